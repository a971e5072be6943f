// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { createStyle } from "../terminal/style.ts";
import { crdType } from "../tree/defined-kinds.ts";
import { DefinitionsError, functionInputs, writeProjectTypes } from "./project-types.ts";

/** `purlin types [PATH…]` */
export async function writeTypes(input: CommandInput, io: Io): Promise<number> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const out = textOption(input, "out") ?? "types";
  const others = isSet(input, "fromServer") ? await serverDefinitions(input, io) : undefined;
  const paths = input.args.length > 0 || others !== undefined ? input.args : ["."];
  const sources = paths.map((path) => (path === "-" ? path : resolve(io.cwd, path)));
  const mustDefine = input.args.length > 0;
  const folder = resolve(io.cwd, out);
  const project = { folder, shown: out, sources, mustDefine, ...(others !== undefined && { others }) };
  try {
    const { kinds, written, removed } = await writeProjectTypes(project, io);
    const facts = { folder: out, kinds, written, removed };
    if (output !== "text") printData(reportOf("TypesReport", facts), output, io);
    else {
      const done = summary(kinds, written.length, removed.length);
      io.stdout.write(`${createStyle(io.stdout, io.env).good("✓")} ${out}: ${done}\n`);
    }
    return 0;
  } catch (error) {
    return reportProblems(error, output, io);
  }
}

const reportOf = (kind: string, facts: object): object => ({ apiVersion: "cli.purlin.dev/v1", kind, ...facts });

/** Definitions that cannot be used: a line each for people, or one document with all of them. */
function reportProblems(error: unknown, output: string, io: Io): number {
  if (!(error instanceof DefinitionsError)) throw error;
  const style = createStyle(io.stderr, io.env);
  for (const problem of error.problems) io.stderr.write(`${style.bad("error:")} ${harmlessLine(problem)}\n`);
  const errors = error.problems.map((message) => ({ code: "INVALID_INPUT", message }));
  if (output !== "text") printData({ errors }, output, io);
  return 2;
}

function summary(kinds: number, written: number, removed: number): string {
  const defined = `${kinds} ${kinds === 1 ? "kind" : "kinds"} from definitions, and the built-in ones`;
  if (written === 0 && removed === 0) return `up to date (${defined})`;
  const gone = removed === 0 ? "" : `, removed ${removed}`;
  return `wrote ${written} ${written === 1 ? "file" : "files"}${gone} (${defined})`;
}

/** The CRDs of a control plane, among them those that were made of XRDs. */
async function serverDefinitions(input: CommandInput, io: Io): Promise<Manifest[]> {
  const { openCluster } = await import("../cluster/cluster-client.ts");
  await using cluster = await openCluster(input, io);
  const { items } = await cluster.client.list(crdType, io);
  return items.map((item) => {
    const object = { ...item, ...crdType };
    return { object, file: "", at: () => `CustomResourceDefinition ${item.metadata.name ?? ""}` };
  });
}

/** `purlin schemas [PATH…]` */
export async function writeSchemas(input: CommandInput, io: Io): Promise<number> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const out = textOption(input, "out") ?? "schemas";
  const paths = input.args.length > 0 ? input.args : ["."];
  const all = paths.map((path) => (path === "-" ? path : resolve(io.cwd, path)));
  const warn = createStyle(io.stderr, io.env).doubtful("warning:");
  try {
    const inputs = await functionInputs(
      {
        sources: all,
        isFetching: isSet(input, "fetchPackages"),
        onMissing: (line) => io.stderr.write(`${warn} inputs are not checked: ${harmlessLine(line)}\n`),
        input,
      },
      io,
    );
    const sources = all.filter((path) => !path.endsWith(".xpkg"));
    const project = { folder: resolve(io.cwd, out), shown: out, sources, inputs, onlySchemas: true };
    const { kinds, written, removed } = await writeProjectTypes(project, io);
    if (output !== "text") {
      const facts = { folder: out, kinds, functions: [...inputs.keys()].toSorted(), written, removed };
      printData(reportOf("SchemasReport", facts), output, io);
      return 0;
    }
    const changes = written.length + removed.length;
    const functions = `${inputs.size} ${inputs.size === 1 ? "function" : "functions"} with known inputs`;
    const done = changes === 0 ? "up to date" : `wrote ${written.length} ${written.length === 1 ? "file" : "files"}`;
    const defined = `${kinds} ${kinds === 1 ? "kind" : "kinds"} from definitions`;
    io.stdout.write(`${createStyle(io.stdout, io.env).good("✓")} ${out}: ${done} (${defined}, ${functions})\n`);
    return 0;
  } catch (error) {
    return reportProblems(error, output, io);
  }
}
