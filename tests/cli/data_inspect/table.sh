#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A table without a job: facts of what is there alone, and lines of a job that reads the file when they are pasted. Marks of missing values,
# names that YAML or patterns would take for something else, row numbers, texts that all differ, lists with gaps, no header.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
# pasted ELEMENT SIZE FILE...: a job with the printed lines, and what it reads.
pasted() {
    element=$1 size=$2
    shift 2
    {
        printf 'version: 1\nname: pasted\n'
        "$DTRAIN" data inspect "$@" -r 0 | sed -n '/^dataset:/,$p'
        printf 'model: {layers: [Input: {name: %s, shape: [%s]}, Dense: {units: %s}]}\n' "$element" "$size" "$size"
        printf 'compile: {optimizer: sgd, loss: mse, target: %s}\nfit: {epochs: 1}\n' "$element"
    } >job.yaml
    show data inspect job.yaml -r 1 | sed -n '/^example/,/^exit/p'
    exits 0 fit job.yaml -n
}

printf 'a,b\n1,x\n,x\n3,\n' >gaps.csv
show data inspect gaps.csv
pasted x 1 gaps.csv

# bill_length_mm of penguins: two NA make no texts of it.
printf 'island;bill\nDream;39.1\nBiscoe;NA\nDream;48.7\nnull;?\n' >marks.csv
show data inspect marks.csv -r 4
pasted x 1 marks.csv

printf ',"a: b",yes,"x*",3,x..y,y,dup,dup\n0,1.5, cat,1,2,3,no,1,2\n1,NA,dog ,2,?,4,yes,3,4\n2,2e3,"d""og",1e400,-,9007199254740993,on,5,inf\n3,-0,null,0,1,5,"~ # '\''x",5,7\n' >odd.csv
show data inspect odd.csv -r 1
pasted x 5 odd.csv

awk 'BEGIN { print "id,name,same,price"; for (i = 1; i <= 30; i++) print i ",n" i * i ",k," i % 7 + .5 }' >ids.csv
show data inspect ids.csv -r 0
show data inspect ids.csv -r 1 --json
pasted x 1 ids.csv

printf '1;a\n2;b\n;a\n' >bare.csv
pasted x 1 bare.csv

cat >lists.jsonl <<'END'
{"a": [[1, 2], [3, 4]], "b": null, "c": true, "x": "no"}
{"b": 2.5, "c": false, "x": "NA"}
{"a": [[0, 0], [0, 1]], "b": 1, "c": false, "x": "no", "z": {}}
{"a": [[5, 0], [0, 1]], "b": 1, "c": true, "x": "yes"}
END
show data inspect lists.jsonl -r 2
pasted numbers 2 lists.jsonl
show data inspect gaps.csv --split test
echo '== delimiters and numbers as people have them'
lines() {
    "$DTRAIN" data inspect "$1" | sed -n '1p; 3,/^$/p; /^dataset/,/element/p'
}
printf '\357\273\277a;"b (\342\202\254)";c\n1,5;"1.234,50";x\n2,25;"17,00";y\n' >quoted.csv
printf '# made by hand\n# twice\n  a    b   c\n  1.5  2   x\n -3    4   y\n' >blanks.txt
printf '#id,a\n1,2.5\n2,3.5\n' >hash.csv
printf 'city,people\nA,"1,234"\nB,"3,500,000"\nC,900.5\n' >thousands.csv
printf 'tag,n\n"1,2",5\n"100,200",6\n' >pairs.csv
printf 'a|b\n1|x, y\n2|z\n' >bars.csv
printf 'hello world 1\nhello you\n' >words.csv
printf 'share,n\n0,1\n12 %%,2\n7%%,3\n' >zero.csv
printf '# made by hand, once\na\tb\n1\t2\n3\t4\n' >noted.csv
printf 'a,b\n1,"x\n' >open.csv
for file in quoted.csv blanks.txt hash.csv thousands.csv pairs.csv bars.csv words.csv zero.csv noted.csv; do lines $file; done
# Marks of databases, statistics programs and spreadsheets.
printf 'tconst\tyear\tx\ty\ntt01\t1894\t.\t0.5\ntt02\t\\N\t1\t#DIV/0!\ntt03\t1892\t2\t1.5\n' >imdb.tsv
lines imdb.tsv
# A column of numbers but for a mark that is not known.
printf 'a,b\n1,x\nunknown,y\n3,z\n4,x\nunknown,y\n5,z\n' >unknown.csv
"$DTRAIN" data inspect unknown.csv -r 0 | grep '#'
"$DTRAIN" data inspect unknown.csv --json | grep -o '"notes": [^]]*.'
# Blanks between delimiters and quotes.
printf '"a", "b, c", kind\n1, 2, "x, y"\n3, 4 ,"z" \n5, 6,	"x, y"\n' >apart.csv
lines apart.csv
# A delimiter too many at the ends of rows, or of the header.
printf 'id,a,kind\n1,2.5,x,\n2,3.5,y,\n3,1,x,\n' >ends.csv
printf 'id,a,kind,\n1,2.5,x\n2,3.5,y\n3,1,x\n' >open_end.csv
printf 'id,a\n1,2.5,\n2,3.5,7\n' >too_many.csv
for file in ends.csv open_end.csv; do lines $file; done
show data inspect too_many.csv
pasted x 2 ends.csv
pasted x 2 open_end.csv
printf "Sales\nby hand, 2024\n\na,b,c\n1,2,3\n4,5,6\n7,8,9\n" >titled.csv
show data inspect open.csv
show data inspect titled.csv
exit 0
