// Judges what goes to and comes from the fake GitHub by GitHub's own descriptions, one JSON question a line.
//   {"kind": "request",  "method", "path", "params", "query", "body"}   path is OpenAPI's: /repos/{owner}/{repo}
//   {"kind": "response", "method", "path", "status", "body", "fault"}
//   {"kind": "webhook",  "event", "body"}
//   {"kind": "graphql",  "query", "variables", "data"}   data: null, or what is answered
// Answers {"errors": [...]}. Only what is asked for is compiled: the description has 13 MB.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , modules, description] = process.argv;
const require = createRequire(modules + "/");
const Ajv = require("ajv").default;

// OpenAPI 3.0 says `nullable` beside anything; JSON Schema wants null among the alternatives.
function withNulls(node) {
  if (Array.isArray(node)) return node.map(withNulls);
  if (node === null || typeof node !== "object") return node;
  const out = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "example" || key === "examples" || key === "discriminator") continue;
    if (key !== "nullable" || typeof value === "object") out[key] = withNulls(value);
  }
  return node.nullable === true ? { anyOf: [{ type: "null" }, out] } : out;
}

const github = withNulls(JSON.parse(readFileSync(description, "utf8")));
const options = { strict: false, allErrors: true, logger: false, inlineRefs: false };
const plain = new Ajv(options);
const loose = new Ajv({ ...options, coerceTypes: true }); // paths and queries are text
for (const ajv of [plain, loose]) {
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)$/);
  ajv.addFormat("uri", /^[a-z][a-z0-9+.-]*:\S*$/i);
  ajv.addFormat("email", /^\S+@\S+$/);
  ajv.addSchema(github, "github");
}
let hooks = null;
function webhooks() {
  if (hooks) return hooks;
  hooks = new Ajv({ ...options, inlineRefs: true });
  hooks.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);
  for (const name of ["uri", "email", "uri-template"]) hooks.addFormat(name, /\S/);
  hooks.addSchema(require("@octokit/webhooks-schemas/schema.json"), "hooks");
  return hooks;
}

const pointer = (...parts) => "github#/" + parts.map((part) => encodeURIComponent(String(part).replace(/~/g, "~0").replace(/\//g, "~1"))).join("/");
const told = (validate, where) => validate.errors.map((e) => `${where}${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);

// A reference to another part of the description, followed to what it names.
function resolved(node, place) {
  if (!node?.$ref) return [node, place];
  const parts = node.$ref.slice(2).split("/");
  return [parts.reduce((at, part) => at[part], github), parts];
}

function check(ajv, place, value, where) {
  const validate = ajv.getSchema(pointer(...place));
  return validate(value) ? [] : told(validate, where);
}

function request({ method, path, params, query, body }) {
  const operation = github.paths[path]?.[method];
  if (!operation) return [`GitHub has no ${method} ${path}`];
  const errors = [];
  const lists = [["paths", path, "parameters"], ["paths", path, method, "parameters"]];
  const known = new Set();
  for (const list of lists) {
    for (const [index, raw] of (list.reduce((at, part) => at?.[part], github) ?? []).entries()) {
      const [parameter, place] = resolved(raw, [...list, index]);
      const given = parameter.in === "path" ? params : parameter.in === "query" ? query : null;
      if (!given) continue;
      if (parameter.in === "query") known.add(parameter.name);
      if (given[parameter.name] === undefined) {
        if (parameter.required) errors.push(`${parameter.in} lacks ${parameter.name}`);
      } else {
        const holder = { value: given[parameter.name] };
        const validate = loose.getSchema(pointer(...place, "schema"));
        // ajv coerces through the parent, which `value` has here.
        if (!validate(holder.value, { parentData: holder, parentDataProperty: "value", instancePath: "", rootData: holder }))
          errors.push(...told(validate, `${parameter.in}.${parameter.name}`));
      }
    }
  }
  for (const name of Object.keys(query)) if (!known.has(name)) errors.push(`query has ${name}, which GitHub does not know`);
  return [...errors, ...requestBody(operation, method, path, body)];
}

function requestBody(operation, method, path, body) {
  const [content, place] = resolved(operation.requestBody, ["paths", path, method, "requestBody"]);
  if (body === null) return content?.required ? ["a body is required"] : [];
  if (!content) return ["a body is sent where GitHub knows none"];
  const media = content.content["application/json"];
  const errors = check(plain, [...place, "content", "application/json", "schema"], body, "body");
  // The description allows unknown names nearly everywhere; a misspelt one is a mistake all the same.
  const properties = resolved(media.schema)[0].properties;
  if (properties && body && typeof body === "object" && !Array.isArray(body))
    for (const name of Object.keys(body)) if (!(name in properties)) errors.push(`body has ${name}, which GitHub does not know`);
  return errors;
}

function response({ method, path, status, body, fault }) {
  const raw = github.paths[path]?.[method]?.responses?.[status];
  if (!raw) {
    // Failures that any operation may meet are not listed with each.
    if (fault || [301, 304, 307, 401, 403, 404, 429].includes(status)) return body === null ? [] : check(plain, ["components", "schemas", "basic-error"], body, "answer");
    return [`GitHub never answers ${status} to ${method} ${path}`];
  }
  const [answer, place] = resolved(raw, ["paths", path, method, "responses", status]);
  if (!answer.content) return body === null ? [] : ["an answer where GitHub sends none"];
  if (body === null) return status === 304 ? [] : ["no answer where GitHub sends one"];
  if (fault) return [];
  return check(plain, [...place, "content", "application/json" in answer.content ? "application/json" : Object.keys(answer.content)[0], "schema"], body, "answer");
}

function webhook({ event, body }) {
  const name = body.action ? `${event}$${body.action}` : `${event}$event`;
  const validate = webhooks().getSchema(`hooks#/definitions/${name.replaceAll("$", "%24")}`) ?? webhooks().getSchema(`hooks#/definitions/${name}`);
  if (!validate) return [`GitHub has no event ${name}`];
  return validate(body) ? [] : told(validate, "payload");
}

let schema = null;
function graphql({ query, variables, data }) {
  const api = require("graphql");
  const published = `${modules}/node_modules/@octokit/graphql-schema/schema.graphql`;
  // Assumed valid, as the version we pin defines two fields of an enterprise twice.
  schema ??= api.buildSchema(readFileSync(published, "utf8"), { assumeValid: true, assumeValidSDL: true });
  const document = api.parse(query);
  const invalid = api.validate(schema, document);
  if (invalid.length) return invalid.map((error) => `query ${error.message}`);
  // The answer is right if the schema makes the same of it; a field that is not there would become null.
  const made = api.executeSync({ schema, document, variableValues: variables, rootValue: data ?? {} });
  const wrong = (made.errors ?? []).filter((error) => data !== null || error.path === undefined);
  if (wrong.length) return wrong.map((error) => `graphql ${error.message}`);
  return data === null || JSON.stringify(made.data) === JSON.stringify(data) ? [] : [`answer ${JSON.stringify(data)} is not ${JSON.stringify(made.data)}`];
}

const kinds = { request, response, webhook, graphql };
for await (const line of createInterface({ input: process.stdin })) {
  let errors;
  try {
    const question = JSON.parse(line);
    errors = kinds[question.kind](question);
  } catch (error) {
    errors = [`the contract could not be asked: ${error.stack}`];
  }
  process.stdout.write(JSON.stringify({ errors }) + "\n");
}
