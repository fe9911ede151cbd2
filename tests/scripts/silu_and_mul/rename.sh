(
set -e
package=$(ls -d src/tilegym tilegym 2>/dev/null | head -1)
kernel=$package/ops/cutile_rs/silu_and_mul_kernel/kernel.rs
sed -i -e 's/\ba_tile\b/gate/g' -e 's/\bb_tile\b/value/g' -e 's/\bdc_tile\b/gradient/g' \
    -e 's/\bsigmoid_a\b/sigmoid/g' -e 's/by `tileport-skill draft`\./by `tileport-skill draft`;/' $kernel
sed -i "/by \`tileport-skill draft\`;/a // names are the gate's and the value's, as an agent gave them." $kernel
head -9 $kernel
grep -n 'gate \* sigmoid' $kernel
)
