#!/usr/bin/env bash
# Builds llama.cpp's server for `npm run test:llama`, from the source that the npm package node-llama-cpp carries.
# Takes ten minutes on two cores and 1 GB. Needs cmake, g++, git and python3-numpy; of the network, only npm's registry.
set -euo pipefail
folder=${ASSISTANT_LLAMA:-${XDG_CACHE_HOME:-$HOME/.cache}/assistant-llama}
version=3.21.1

for program in cmake g++ git; do
  command -v "$program" >/dev/null || { echo "$program is missing: apt-get install cmake g++ git python3-numpy" >&2; exit 1; }
done
python3 -c 'import numpy' 2>/dev/null || { echo 'numpy is missing: apt-get install python3-numpy' >&2; exit 1; }

mkdir -p "$folder"
cd "$folder"
if [ ! -d src ]; then
  npm pack --silent "node-llama-cpp@$version" >/dev/null
  tar xzf "node-llama-cpp-$version.tgz"
  git clone --quiet "$(find package -name '*.bundle' | head -n 1)" src
  rm -rf package "node-llama-cpp-$version.tgz"
fi
cmake -S src -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF \
  -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF >cmake.log
cmake --build build --target llama-server -j "$(nproc)" >build.log
echo "Built $folder/build/bin/llama-server. Now: npm run test:llama"
