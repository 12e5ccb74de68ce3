#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Answer rows of a table with names of classes, keep what identifies a row, and survive a bad one.
. tests/cli/setup.sh
. tests/cli/pages.sh
page your-own-data
step awk
given flowers.yaml
step 'dtrain fit flowers.yaml fit.epochs=10'
step printf
step 'dtrain predict flowers.yaml --input new.csv --top 1'
cat said
for option in '--keep id,name' '--on-error row'; do mentions "$option"; done
printf 'id,length,width,colour,name\n7,3.1,4.2,0.5,Ann\n8,6.0,wide,0.1,Bob\n9,6.0,2.5,0.1,Cy\n' >bad.csv
dtrain predict flowers.yaml --input bad.csv --top 1 >none 2>err
echo "exit $?"
dtrain predict flowers.yaml --input bad.csv --top 1 --keep id,name --on-error row | cut -d , -f 1-3,5 | sed 's/: .*//'
