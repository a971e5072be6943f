// SPDX-License-Identifier: Apache-2.0
// Installs the public software that our suites run against: `npm run peers`, or `npm run peers -- grpcurl` for those
// whose name contains one of the words.
import { cacheDirectory } from "./cache-directory.ts";
import { allPeers } from "./catalog.ts";
import { install } from "./peer.ts";

const words = process.argv.slice(2);
const unknown = words.filter((word) => !allPeers.some(({ name }) => name.includes(word)));
if (unknown.length > 0) {
  console.error(
    `no peer is called ${unknown.join(", ")}: expected some of ${allPeers.map(({ name }) => name).join(", ")}`,
  );
  process.exit(2);
}
for (const peer of allPeers.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))) {
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
