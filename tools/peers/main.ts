// SPDX-License-Identifier: Apache-2.0
// Installs the public SDKs and clients that the interop suite and the benchmarks run against: `npm run peers`.
import { cacheDirectory } from "./cache-directory.ts";
import { allPeers } from "./catalog.ts";
import { install } from "./peer.ts";

for (const peer of allPeers) {
  const started = performance.now();
  console.log(`${peer.name} ${peer.version} ...`);
  try {
    const outcome = install(peer, cacheDirectory);
    console.log(`  ${outcome} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    console.error(`  ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
