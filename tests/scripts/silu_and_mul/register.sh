(
set -e
package=$(ls -d src/tilegym tilegym 2>/dev/null | head -1)
ports=$package/ops/cutile_rs
mkdir -p $ports/silu_and_mul_kernel
mv kernel.rs ffi.rs $ports/silu_and_mul_kernel/
mv silu_and_mul.py $ports/
python3 - "$ports" <<'PYTHON'
import ast
import pathlib
import re
import sys

ports = pathlib.Path(sys.argv[1])

library = ports / "cutile_kernels/src/lib.rs"
library.write_text(library.read_text().rstrip("\n") + """

mod silu_and_mul {
    include!("../../silu_and_mul_kernel/kernel.rs");
    include!("../../silu_and_mul_kernel/ffi.rs");
}
""")

package = ports / "__init__.py"
lines = package.read_text().splitlines()
new = "    from . import silu_and_mul  # noqa: F401  (register dispatch entry)"
imports = [number for number, line in enumerate(lines) if line.startswith("    from . import ")]
later = [number for number in imports if lines[number] > new]
lines.insert(later[0] if later else imports[-1] + 1, new)
package.write_text("\n".join(lines) + "\n")

tests = pathlib.Path("tests/ops/test_silu_and_mul.py")
text = re.sub(
    r'^( *)_backends = \["cutile"\]$',
    r'\g<0>\n\1if is_backend_available("cutile-rs"):\n\1    _backends = _backends + ["cutile-rs"]',
    tests.read_text(),
    flags=re.MULTILINE,
)
tests.write_text(text)
PYTHON
git status --short
git diff
)
