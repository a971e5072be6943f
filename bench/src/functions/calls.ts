// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { encode, RunFunctionRequest } from "@purlin/function-protocol";
import { purlinFunction, pythonFunction, typescriptFunction } from "../../../tools/peers/function-commands.ts";
import { type FunctionCommand, startFunction } from "../../../tools/peers/function-process.ts";
import { type Figure, figure, ratios, type Target } from "../measure/figure.ts";
import { processorTime } from "../measure/process-usage.ts";
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
  return [
    ...figuresOf("no-op", noop, { typescript: 3, python: 1.5 }),
    figure("calls: no-op, ours ÷ bare grpc-js on raw bytes", "×", ratios(noop.purlin.rates, noop.bare.rates)),
    ...figuresOf("read 20, write 10", busy, { typescript: 2 }),
  ];
}

function figuresOf(
  what: string,
  { purlin, typescript, python }: Record<Contender, Measured>,
  least: { readonly typescript: number; readonly python?: number },
): Figure[] {
  const compare = (name: string, other: Measured, target?: Target): Figure[] => [
    figure(`calls: ${what}, ours ÷ public ${name} SDK`, "×", ratios(purlin.rates, other.rates), target),
    figure(`calls: ${what}, processor time, public ${name} SDK ÷ ours`, "×", ratios(other.costs, purlin.costs)),
  ];
  return [
    figure(`calls: ${what} on our SDK`, "calls/s", purlin.rates),
    ...compare("TypeScript", typescript, atLeast(least.typescript)),
    ...compare("Python", python, least.python === undefined ? undefined : atLeast(least.python)),
  ];
}

const atLeast = (value: number): Target => ({ relation: "at least", value });

type Contender = "purlin" | "typescript" | "python" | "bare";

/** Calls a second, and processor seconds a call of the function alone, round by round. */
interface Measured {
  readonly rates: number[];
  readonly costs: number[];
}

function commandsOf(name: "noop" | "busy"): Record<Contender, FunctionCommand> {
  return {
    purlin: purlinFunction(join(functions, "purlin", `${name}.ts`), insecure),
    typescript: typescriptFunction(join(functions, "typescript", `${name}.mjs`), insecure),
    python: pythonFunction(join(functions, "python", `${name}.py`), insecure),
    bare: { program: process.execPath, args: (address) => [join(functions, "bare", "echo.ts"), address] },
  };
}

async function measureAll(name: "noop" | "busy", effort: Effort): Promise<Record<Contender, Measured>> {
  await using stack = new AsyncDisposableStack();
  const requests = Array.from({ length: 16 }, (_, i) => encode(RunFunctionRequest, toRequest(createWorkload(i))));
  const entries = Object.entries(commandsOf(name)) as [Contender, FunctionCommand][];
  const running: { contender: Contender; pid: number; loader: Loader; measured: Measured }[] = [];
  for (const [contender, command] of entries) {
    const { port, pid } = stack.use(await startFunction(command));
    const loader = stack.use(createLoader({ port, requests, inFlight }));
    await loader.callFor(effort.warmUpMs);
    running.push({ contender, pid, loader, measured: { rates: [], costs: [] } });
  }
  for (let round = 0; round < effort.rounds; round++) {
    for (const { pid, loader, measured } of running) {
      const before = processorTime(pid);
      const { calls, seconds } = await loader.callFor(effort.sliceMs);
      measured.rates.push(calls / seconds);
      measured.costs.push((processorTime(pid) - before) / calls);
    }
  }
  return Object.fromEntries(running.map(({ contender, measured }) => [contender, measured])) as Record<
    Contender,
    Measured
  >;
}
