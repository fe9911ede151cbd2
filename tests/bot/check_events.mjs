// Reads {"events": {name: document}} on stdin, prints {name: [what does not fit GitHub's published schema]}.
// Our samples leave out what the bot does not read, so `required` is not asked; names, types and values are.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.argv[2] + "/");
const Ajv = require("ajv").default;
const schema = require("@octokit/webhooks-schemas/schema.json");

function relaxed(node) {
  if (Array.isArray(node)) return node.map(relaxed);
  if (node === null || typeof node !== "object") return node;
  const out = {};
  for (const [key, value] of Object.entries(node)) {
    // Under `properties` and `definitions` the keys are names: a field may be called "required".
    if (key === "properties" || key === "definitions")
      out[key] = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, relaxed(inner)]));
    else if (key === "required") continue;
    else out[key === "oneOf" ? "anyOf" : key] = relaxed(value);
  }
  return out;
}

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(relaxed(schema), "github");
const answers = {};
for (const [file, document] of Object.entries(JSON.parse(readFileSync(0, "utf8")).events)) {
  const definition = `${file.split(".")[0]}$${document.action}`;
  const validate = ajv.getSchema(`github#/definitions/${definition}`);
  if (!validate) answers[file] = [`GitHub has no event ${definition}`];
  else answers[file] = validate(document) ? [] : validate.errors.map((e) => `${e.instancePath || "/"} ${e.message} ${JSON.stringify(e.params)}`);
}
console.log(JSON.stringify(answers));
