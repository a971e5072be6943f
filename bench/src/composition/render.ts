// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { purlinFunction } from "../../../tools/peers/function-commands.ts";
import { startFunction } from "../../../tools/peers/function-process.ts";
import { builtCommand } from "../../../tools/publish/built-command.ts";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { composition, functionNames, functionObject, pair } from "./manifests.ts";
import { atMost } from "./mark.ts";
import { sourceOf } from "./planes.ts";

/** `purlin render` of two steps whose functions run already, by the time Node takes to do nothing. */
export async function renderFigures(rounds: number): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "bench-render-"));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const files = await writeInputs(folder, stack);
  const render = [builtCommand(), "render", ...files];
  const times: Record<"render" | "node", number[]> = { render: [], node: [] };
  for (let round = -3; round < rounds; round++) {
    const node = runMs(["-e", "0"]);
    const rendered = runMs(render);
    // The first ones warm up the functions and the disk.
    if (round < 0) continue;
    times.node.push(node);
    times.render.push(rendered);
  }
  return [
    figure("render: node -e 0", "ms", times.node),
    figure("render: two steps, warm functions", "ms", times.render),
    figure("render: two steps ÷ node -e 0", "×", ratios(times.render, times.node), atMost(5)),
  ];
}

async function writeInputs(folder: string, stack: AsyncDisposableStack): Promise<string[]> {
  const functions: object[] = [];
  for (const name of functionNames) {
    const { port } = stack.use(await startFunction(purlinFunction(sourceOf(name), { insecure: true })));
    const annotations = {
      "render.crossplane.io/runtime": "Development",
      "render.crossplane.io/runtime-development-target": `127.0.0.1:${port}`,
    };
    functions.push(functionObject(name, annotations));
  }
  const write = (name: string, ...objects: readonly object[]): string => {
    const file = join(folder, name);
    writeFileSync(file, objects.map((object) => `---\n${JSON.stringify(object, undefined, 2)}\n`).join(""));
    return file;
  };
  return [
    write("xr.yaml", pair("rendered")),
    write("composition.yaml", composition(60)),
    write("functions.yaml", ...functions),
  ];
}

function runMs(args: readonly string[]): number {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  const took = performance.now() - started;
  if (status !== 0) throw new Error(`${args.join(" ")} left with ${status}: ${String(stderr)}`);
  return took;
}
