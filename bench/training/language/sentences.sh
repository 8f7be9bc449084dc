#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Downloads lingua's test sentences, a file for each of 75 languages, from its crates at crates.io (100 MB).
set -eu
out=${1:?"usage: sentences.sh FOLDER"}
mkdir -p "$out"
while read -r tag name; do
	[ -s "$out/$tag.txt" ] && continue
	crate=lingua-$name-language-model
	curl -sSfL -m 300 "https://static.crates.io/crates/$crate/$crate-1.2.0.crate" >"$out/crate"
	tar xzOf "$out/crate" "$crate-1.2.0/testdata/sentences.txt" >"$out/$tag.part"
	mv "$out/$tag.part" "$out/$tag.txt"
done <<EOF
af afrikaans
ar arabic
az azerbaijani
be belarusian
bg bulgarian
bn bengali
bs bosnian
ca catalan
cs czech
cy welsh
da danish
de german
el greek
en english
eo esperanto
es spanish
et estonian
eu basque
fa persian
fi finnish
fr french
ga irish
gu gujarati
he hebrew
hi hindi
hr croatian
hu hungarian
hy armenian
id indonesian
is icelandic
it italian
ja japanese
ka georgian
kk kazakh
ko korean
la latin
lg ganda
lt lithuanian
lv latvian
mi maori
mk macedonian
mn mongolian
mr marathi
ms malay
nb bokmal
nl dutch
nn nynorsk
pa punjabi
pl polish
pt portuguese
ro romanian
ru russian
sk slovak
sl slovene
sn shona
so somali
sq albanian
sr serbian
st sotho
sv swedish
sw swahili
ta tamil
te telugu
th thai
tl tagalog
tn tswana
tr turkish
ts tsonga
uk ukrainian
ur urdu
vi vietnamese
xh xhosa
yo yoruba
zh chinese
zu zulu
EOF
rm -f "$out/crate"
