// SPDX-License-Identifier: Apache-2.0
// `npm run compare-kinds [-- KIND… --requests=N --seed=N]`: random objects of built-in kinds, answered by both servers. `--all` reports known gaps
// too, `--groups=N` limits the differences that are printed, `--text=N` the length of their texts.
import { unexplained } from "./known-gaps.ts";
import { describeFindings } from "./report.ts";
import { compareRandomKinds } from "./run.ts";

const words = process.argv.slice(2);
const option = (name: string): string | undefined =>
  words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const seed = Number(option("seed") ?? process.env["PROPERTY_SEED"] ?? (Date.now() % 1_000_000) + 1);
const requests = Number(option("requests") ?? 20_000);
const kinds = words.filter((word) => !word.startsWith("--"));
console.log(`${requests} random requests from seed ${seed}; repeat with --seed=${seed}.`);
const started = performance.now();
const referenceOnly = words.includes("--reference-only");
const all = await compareRandomKinds({ seed, requests, referenceOnly, ...(kinds.length > 0 && { kinds }) });
const findings = words.includes("--all") ? all : unexplained(all);
console.log(describeFindings(findings, Number(option("groups") ?? 60), Number(option("text") ?? 400)));
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  `${findings.length} of ${requests} answers differ, ${all.length - findings.length} more in known gaps (${seconds} s).`,
);
process.exitCode = findings.length === 0 ? 0 : 1;
