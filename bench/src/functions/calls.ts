// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { encode, RunFunctionRequest } from "@purlin/function-protocol";
import { purlinFunction, pythonFunction, typescriptFunction } from "../../../tools/peers/function-commands.ts";
import { type FunctionCommand, startFunction } from "../../../tools/peers/function-process.ts";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import type { Effort } from "../measure/timing.ts";
import { createLoader, type Loader } from "./loader.ts";
import { toRequest } from "./request.ts";
import { createWorkload } from "./workload.ts";

const inFlight = 8;
const functions = join(import.meta.dirname, "..", "..", "functions");
const insecure = { insecure: true } as const;

/** Calls a second of the same function on three SDKs, each in its own process, under the same load. */
export async function callFigures(effort: Effort): Promise<Figure[]> {
  const noop = await measureAll("noop", effort);
  const busy = await measureAll("busy", effort);
  const atLeast = (value: number) => ({ relation: "at least", value }) as const;
  return [
    figure("calls: no-op on our SDK", "calls/s", noop.purlin),
    figure("calls: no-op, ours ÷ public TypeScript SDK", "×", ratios(noop.purlin, noop.typescript), atLeast(3)),
    figure("calls: no-op, ours ÷ public Python SDK", "×", ratios(noop.purlin, noop.python), atLeast(1.5)),
    figure("calls: no-op, ours ÷ bare grpc-js on raw bytes", "×", ratios(noop.purlin, noop.bare)),
    figure("calls: read 20, write 10 on our SDK", "calls/s", busy.purlin),
    figure(
      "calls: read 20, write 10, ours ÷ public TypeScript SDK",
      "×",
      ratios(busy.purlin, busy.typescript),
      atLeast(2),
    ),
    figure("calls: read 20, write 10, ours ÷ public Python SDK", "×", ratios(busy.purlin, busy.python)),
  ];
}

type Contender = "purlin" | "typescript" | "python" | "bare";

async function measureAll(name: "noop" | "busy", effort: Effort): Promise<Record<Contender, number[]>> {
  const commands: Record<Contender, FunctionCommand> = {
    purlin: purlinFunction(join(functions, "purlin", `${name}.ts`), insecure),
    typescript: typescriptFunction(join(functions, "typescript", `${name}.mjs`), insecure),
    python: pythonFunction(join(functions, "python", `${name}.py`), insecure),
    bare: { program: process.execPath, args: (address) => [join(functions, "bare", "echo.ts"), address] },
  };
  await using stack = new AsyncDisposableStack();
  const loaders = {} as Record<Contender, Loader>;
  const requests = Array.from({ length: 16 }, (_, i) => encode(RunFunctionRequest, toRequest(createWorkload(i))));
  const contenders = Object.keys(commands) as Contender[];
  for (const contender of contenders) {
    const { port } = stack.use(await startFunction(commands[contender]));
    loaders[contender] = stack.use(createLoader({ port, requests, inFlight }));
    await loaders[contender].callsPerSecond(effort.warmUpMs);
  }
  const rates = Object.fromEntries(contenders.map((one) => [one, [] as number[]])) as Record<Contender, number[]>;
  for (let round = 0; round < effort.rounds; round++) {
    for (const contender of contenders) {
      rates[contender].push(await loaders[contender].callsPerSecond(effort.sliceMs));
    }
  }
  return rates;
}
