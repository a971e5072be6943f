// SPDX-License-Identifier: Apache-2.0
// The local gate: `npm run check`. Each step is a command that can be run alone. `--no-tests` skips the tests.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";

const steps: ReadonlyArray<{ readonly name: string; readonly command: string }> = [
  { name: "format and lint", command: "biome check --error-on-warnings ." },
  { name: "promises", command: "oxlint --type-aware --deny-warnings ." },
  { name: "types", command: "tsc --noEmit" },
  { name: "types of the documentation's scripts", command: "tsc --noEmit -p tools/docs-site/browser" },
  { name: "generated code", command: "node tools/generate.ts --check" },
  { name: "voice", command: "node tools/voice/main.ts" },
  { name: "dead exports and folder cycles", command: "node tools/structure/main.ts --check" },
  { name: "tests", command: "node tools/run-tests.ts unit" },
  { name: "tests of the command", command: "node tools/run-tests.ts command" },
];

const unlinked = readdirSync("packages").filter((name) => !existsSync(`node_modules/@purlin/${name}/package.json`));
if (unlinked.length > 0) {
  console.error(`packages without a link in node_modules/@purlin: ${unlinked.join(", ")}. Run: npm install`);
  process.exit(1);
}

const withTests = !process.argv.includes("--no-tests");
for (const { name, command } of steps.filter(
  (step) => withTests || !step.command.startsWith("node tools/run-tests.ts"),
)) {
  const started = performance.now();
  console.log(`\n== ${name}: ${command}`);
  const { status } = spawnSync(command, { shell: true, stdio: "inherit" });
  if (status !== 0) {
    console.error(`\ncheck failed at "${name}". Run it alone with: npx ${command}`);
    process.exit(1);
  }
  console.log(`   ok (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}
console.log("\nEverything checks.");
