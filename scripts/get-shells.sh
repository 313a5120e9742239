#!/bin/bash
# get-shells.sh DIR: unpacks Debian's zsh, fish, shellcheck and mandoc into DIR, for the tests of shell
# completion, examples and man page. Nothing of the system is changed; DIR/bin has the programs.
# Ends 0 when they run, 75 when the mirror does not answer, 1 on a system without apt.
set -euo pipefail

say() { echo "get-shells: $*" >&2; }

[ $# -eq 1 ] || { say "usage: get-shells.sh DIR"; exit 2; }
target=$(realpath -m "$1")
[ -x "$target/bin/zsh" ] && exit 0
for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || { say "no $tool: install zsh, fish, shellcheck and mandoc"; exit 1; }
done

mkdir -p "$(dirname "$target")"
dir=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/debs" "$dir/bin" "$dir/root"
cd "$dir/debs"
apt-get -qq download zsh zsh-common fish fish-common libpcre2-32-0 shellcheck mandoc 2>"$dir/errors" ||
  { cat "$dir/errors" >&2; say "THE PACKAGE MIRROR DOES NOT ANSWER"; exit 75; }
for deb in ./*.deb; do dpkg-deb -x "$deb" "$dir/root"; done
rm -rf "$dir/debs" "$dir/errors"
# A fish that is not where it was built for looks beside itself, if it finds both of these there.
mkdir -p "$dir/root/usr/etc/fish"
modules=$(dirname "$(dirname "$(find "$dir/root/usr/lib" -name parameter.so -path '*zsh*' | head -1)")")
libraries=$(dirname "$(find "$dir/root/usr/lib" -name 'libpcre2-32.so.0' | head -1)")

cat >"$dir/bin/zsh" <<START
#!/bin/sh
TOUCHSTONED_ZSH_MODULES='$target${modules#"$dir"}' exec '$target/root/bin/zsh' "\$@"
START
cat >"$dir/bin/fish" <<START
#!/bin/sh
LD_LIBRARY_PATH='$target${libraries#"$dir"}' exec '$target/root/usr/bin/fish' "\$@"
START
for tool in shellcheck mandoc; do ln -s "../root/usr/bin/$tool" "$dir/bin/$tool"; done
chmod 755 "$dir" "$dir"/bin/zsh "$dir"/bin/fish
rm -rf "$target"
mv "$dir" "$target"
cd /
for tool in zsh fish shellcheck; do
  "$target/bin/$tool" --version >/dev/null || { say "the unpacked $tool does not run"; exit 1; }
done
say "zsh, fish, shellcheck and mandoc are in $target/bin"
