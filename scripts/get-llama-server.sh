#!/bin/bash
# get-llama-server.sh DIR [SUITE]: unpacks Debian's prebuilt llama-server (package llama.cpp-tools)
# and the libraries it needs from a newer Debian suite [forky] into DIR, beside the running Debian.
# Nothing of the system is changed: apt's lists, state and cache for it lie in DIR/apt, and the
# program runs with its own libc through its own loader (no root, no chroot): DIR/llama-server ARGS
# Debian's mirror and key are the ones that this machine's apt is set up with.
#
# Run again it only says the version. Ends 0 when the server runs, 75 when the mirror does not answer
# (try later), 1 when something is wrong that waiting does not cure: the package is gone, no Debian.
set -euo pipefail
. "$(dirname "$0")/own-apt.sh"

say() { echo "get-llama-server: $*" >&2; }
fail() { say "ERROR: $*"; exit 1; }
later() { say "THE PACKAGE MIRROR DOES NOT ANSWER: $*"; exit 75; }

[ $# -ge 1 ] || { say "usage: get-llama-server.sh DIR [SUITE]"; exit 2; }
target=$(realpath -m "$1")
suite=${2:-forky}
package=llama.cpp-tools

if [ -x "$target/llama-server" ] && "$target/llama-server" --version 2>&1; then
  say "already in $target"
  exit 0
fi

for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || fail "no $tool: this script is for Debian; take llama-server from PATH"
done
[ "$(dpkg --print-architecture)" = amd64 ] || fail "only amd64 is known to this script"
uri=$(debian_mirror)
[ -n "$uri" ] || fail "no Debian mirror is configured (run apt-get update once)"

# Everything is made beside its place and moved there as a whole; the paths inside the starter
# script are the final ones.
mkdir -p "$(dirname "$target")"
dir=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/root"
own_apt "$dir" "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
export APT_CONFIG="$dir/apt/apt.conf"

if ! apt-get -qq update 2>"$dir/apt/errors"; then
  cat "$dir/apt/errors" >&2
  # The mirror answered, and said that it has no such suite: waiting will not bring it back.
  grep -q "does not have a Release file" "$dir/apt/errors" &&
    ! grep -Eq "Could not (connect|resolve)|timed out|Temporary failure" "$dir/apt/errors" &&
    fail "THE SUITE $suite IS GONE from $uri"
  later "no list of packages from $uri $suite"
fi
apt-cache show "$package" >/dev/null 2>&1 ||
  fail "THE PACKAGE $package IS GONE from $suite at $uri: find where llama-server went"
say "fetching $package from $suite (about 19 MB)"
apt-get -qq --simulate install "$package" >/dev/null ||
  fail "$package of $suite cannot be installed: its dependencies do not fit together"
apt-get -qq -y --download-only install "$package" || later "no packages from $uri $suite"

# These are named as dependencies, but the server runs without them.
for deb in "$dir"/apt/cache/archives/*.deb; do
  case $(basename "$deb") in debconf_* | wget_* | curl_* | openssl-provider-legacy_*) continue ;; esac
  dpkg-deb -x "$deb" "$dir/root"
done
rm -rf "$dir/apt/cache"

llama=$(find "$dir/root" -name 'libllama.so.0' | head -1)
cpu=$(find "$dir/root" -name 'libggml-cpu-x64.so' | head -1)
[ -n "$llama" ] && [ -n "$cpu" ] || fail "$package of $suite holds no libllama.so.0 or no CPU backend"
lib=$target${llama#"$dir"}
lib=$(dirname "$lib")
backends=$(dirname "$target${cpu#"$dir"}")
# ggml looks for its CPU backends in the working directory (and picks the best for this CPU).
cat >"$dir/llama-server" <<START
#!/bin/bash
cd "$backends" && exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib:$lib/llama" "$target/root/usr/bin/llama-server" "\$@"
START
chmod +x "$dir/llama-server"
chmod 755 "$dir"
rm -rf "$target"
mv "$dir" "$target"
"$target/llama-server" --version 2>&1 || fail "the unpacked llama-server does not run"
say "unpacked in $target"
