#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tables without a header, with blanks after commas, divided by blanks, with CR line ends: what `config init --from` takes for names.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
show() {
    "$DTRAIN" config init "$@" >job.yaml 2>err && sed -n '/field_delim/p; /header/p; /^  element/,/^  map/p' job.yaml && "$DTRAIN" validate job.yaml
    cat err
}

echo "# no header: words that occur again, missing values with a blank"
awk 'BEGIN { for (i = 0; i < 40; i++) printf "%d, %s, %d, %s\n", 20 + i * 7 % 50, i % 3 ? "Private" : i % 2 ? "?" : "State", i * 131 % 97, (i * 7 % 50 > 20) ? ">50K" : "<=50K" }' >adult.data
show --from adult.data --target 3
echo "# a header with blanks: its name without them will do"
{ echo "age, work, hours, income"; cat adult.data; } >adult.csv
show --from adult.csv --target income
echo "# divided by blanks, with a tab and quotes; no header, because its numbers are not whole"
awk 'BEGIN { for (i = 0; i < 40; i++) printf "%.1f   %d   %s  %d\t\"car %d\"\n", 15 + i * 7 % 20, 4 + i % 3, i % 9 ? 100 + i "." : "?", 70 + i % 5, i }' >mpg.data
show --from mpg.data --target 0
echo "# texts alone: a header if they do not occur again"
printf 'size,kind,edible\n%s' "$(awk 'BEGIN { for (i = 0; i < 40; i++) printf "%s,%s,%s\n", i % 2 ? "big" : "small", i % 3 ? "a" : "b", i % 2 ? "yes" : "no" }')" >words.csv
show --from words.csv --target edible | head -n 4
sed 1d words.csv >bare.csv
show --from bare.csv --target 2 | head -n 4
echo "# a header of wavelengths above texts and numbers, and a header again where files were joined"
printf 'sort,400.5,401.5,402.5\n%s' "$(awk 'BEGIN { for (i = 0; i < 40; i++) printf "%s,%d.5,%d,%d\n", i % 2 ? "a" : "b", i % 7, i % 5, i % 3 }')" >waves.csv
show --from waves.csv --target sort | head -n 4
cat adult.csv adult.csv >joined.csv
show --from joined.csv --target income | head -n 4
echo "# decimal commas divide as many fields as semicolons"
awk 'BEGIN { for (i = 0; i < 40; i++) printf "%d,5;%d,2;%s\n", i % 7, i % 5, i % 3 ? "a" : "b" }' >marks.csv
show --from marks.csv --target 2 | head -n 4
echo "# CR line ends, and a LF in quotes"
printf 'x,text,y\r%s' "$(awk 'BEGIN { for (i = 0; i < 40; i++) printf "%d,\"a w%d\nb\",%d\r", i * 7 % 11, i % 3, i % 2 }')" >cr.csv
show --from cr.csv --target y | head -n 4
echo "# what is wrong"
printf 'a,b\n1,2,3\n4,5,6\n' >names.csv
show --from names.csv --target b
printf 'a,b\n1,2\n' >one.csv
show --from one.csv --target b
printf 'a,b\n1,"x \\"y\\" z"\n' >escaped.csv
show --from escaped.csv --target a
printf 'a,b\n1,6" pipe\n' >inch.csv
show --from inch.csv --target a
