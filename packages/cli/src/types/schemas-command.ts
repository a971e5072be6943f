// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { createStyle } from "../terminal/style.ts";
import { functionInputs } from "./project-kinds.ts";
import { DefinitionsError, writeProjectTypes } from "./project-types.ts";

/** `purlin schemas [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
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
    const changes = written.length + removed.length;
    const functions = `${inputs.size} ${inputs.size === 1 ? "function" : "functions"} with known inputs`;
    const done = changes === 0 ? "up to date" : `wrote ${written.length} ${written.length === 1 ? "file" : "files"}`;
    const defined = `${kinds} ${kinds === 1 ? "kind" : "kinds"} from definitions`;
    io.stdout.write(`${createStyle(io.stdout, io.env).good("✓")} ${out}: ${done} (${defined}, ${functions})\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof DefinitionsError)) throw error;
    const bad = createStyle(io.stderr, io.env).bad("error:");
    for (const problem of error.problems) io.stderr.write(`${bad} ${harmlessLine(problem)}\n`);
    return 1;
  }
}
