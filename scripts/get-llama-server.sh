#!/usr/bin/env bash
# get-llama-server.sh DIR [SUITE]: a real llama-server for tests, from Debian's own package.
#
# Unpacks llama.cpp-tools and the libraries it needs from a newer Debian suite [forky] into DIR and
# makes DIR/llama-server, which runs the program with its own libc through its own loader, beside
# whatever Debian or Ubuntu this machine has. No root, no chroot, nothing of the system is changed:
# apt's lists, state and cache for it lie in DIR as well. The mirror and the key are this machine's.
set -euo pipefail

dir=$(realpath -m "${1:?usage: get-llama-server.sh DIR [SUITE]}")
suite=${2:-forky}

uri=$(apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)' 'Created-By: Packages' |
  awk -F'|' '$1 == "Debian" && $2 !~ /security/ { print $2; exit }')
if [ -z "$uri" ]; then
  echo "no Debian mirror is set up here, or its lists were never fetched: run apt-get update once" >&2
  exit 1
fi

# Made beside its place and moved there when it is whole: a run that is broken off leaves no half.
work="$dir.new"
rm -rf "$work"
mkdir -p "$work"/apt/{lists/partial,cache/archives/partial} "$work/root"
: >"$work/apt/status" # as if nothing were installed, so that every library comes from the one suite
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" \
  >"$work/apt/sources.list"
cat >"$work/apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$work/apt";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
CONF
export APT_CONFIG="$work/apt/apt.conf"
apt-get -qq update
apt-get -qq -y --download-only install llama.cpp-tools
for package in "$work"/apt/cache/archives/*.deb; do
  case $(basename "$package") in
    # Named as dependencies, but the server runs without them.
    debconf_* | wget_* | curl_* | openssl-provider-legacy_*) continue ;;
  esac
  dpkg-deb -x "$package" "$work/root"
done
rm -rf "$work/apt"

inside() { # path below the root of what was unpacked, wherever the multiarch folder is
  local found
  found=$(cd "$work/root" && find . -name "$1" -print -quit)
  [ -n "$found" ] || { echo "the packages of $suite hold no $1" >&2; exit 1; }
  dirname "${found#./}"
}
libraries=$(inside libllama.so.0)
backends=$(inside 'libggml-cpu*.so')
loader=$(basename "$(find "$work/root/$libraries" -name 'ld-linux-*.so.*' -print -quit)")

# ggml looks for its CPU backends in the working directory and takes the best one for this machine.
cat >"$work/llama-server" <<RUN
#!/usr/bin/env bash
root="$dir/root"
cd "\$root/$backends" && exec "\$root/$libraries/$loader" \\
  --library-path "\$root/$libraries:\$root/$libraries/llama" "\$root/usr/bin/llama-server" "\$@"
RUN
chmod +x "$work/llama-server"
rm -rf "$dir"
mv "$work" "$dir"
"$dir/llama-server" --version
