// SPDX-License-Identifier: Apache-2.0
// Runs a suite of benchmarks: `npm run bench -- functions|apiserver|composition|packages|limits|workloads|loop [part …] [--json FILE] [--quick] [--strict]`.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { parts as apiserver } from "./apiserver/parts.ts";
import { parts as composition } from "./composition/parts.ts";
import { parts as functions } from "./functions/parts.ts";
import { parts as limits } from "./limits/parts.ts";
import { parts as loop } from "./loop/parts.ts";
import type { Figure } from "./measure/figure.ts";
import { describeMachine, useTwoCores } from "./measure/machine.ts";
import { formatFigure, heading, toMarkdown } from "./measure/report.ts";
import type { Part } from "./measure/suite.ts";
import { versions } from "./measure/versions.ts";
import { parts as packages } from "./packages/parts.ts";
import { parts as workloads } from "./workloads/parts.ts";

const suites: Record<string, readonly Part[]> = {
  functions,
  apiserver,
  composition,
  packages,
  limits,
  workloads,
  loop,
};

const options = {
  json: { type: "string" },
  markdown: { type: "string" },
  quick: { type: "boolean", default: false },
  strict: { type: "boolean", default: false },
} as const;

const usage = `usage: npm run bench -- SUITE [PART ...] [--json FILE] [--markdown FILE] [--quick] [--strict]
suites: ${Object.entries(suites)
  .map(([name, parts]) => `${name} (${parts.map((part) => part.name).join(", ")})`)
  .join("; ")}`;

process.exitCode = await run(process.argv.slice(2));

async function run(argv: string[]): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(argv);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return 2;
  }
  const { suite, parts, values } = parsed;
  const machine = { ...describeMachine(), used: useTwoCores() };
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system}; on ${machine.used}`,
  );
  console.log(
    Object.entries(versions())
      .map(([name, version]) => `${name} ${version}`)
      .join(", "),
  );
  if (machine.load > 0.5) console.log(`The machine is busy (load ${machine.load}): expect a wide spread.`);
  console.log(`\n${heading}`);
  const figures: Figure[] = [];
  for (const part of parts) {
    for (const one of await part.measure(values.quick)) {
      figures.push(one);
      console.log(formatFigure(one));
    }
  }
  const report = { suite, date: new Date().toISOString(), machine, versions: versions(), quick: values.quick, figures };
  if (values.markdown !== undefined) writeFileSync(values.markdown, `${toMarkdown(figures)}\n`);
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  else console.log(`\n${JSON.stringify(report)}`);
  return values.strict && figures.some(({ verdict }) => verdict === "short") ? 1 : 0;
}

function parse(argv: string[]) {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const [suite = "", ...wanted] = positionals;
  const known = suites[suite];
  if (known === undefined) throw new Error(`there is no suite "${suite}"`);
  const missing = wanted.find((name) => !known.some((part) => part.name === name));
  if (missing !== undefined) throw new Error(`there is no part "${missing}" in the suite ${suite}`);
  return { suite, values, parts: known.filter((part) => wanted.length === 0 || wanted.includes(part.name)) };
}
