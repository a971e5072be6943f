// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtFolder } from "../../../tools/publish/built-command.ts";
import { type Figure, figure, ratios, type Target } from "../measure/figure.ts";
import { type Both, withBoth } from "./both.ts";
import { type Load, startInProcess } from "./load.ts";
import { type Kind, kinds } from "./objects.ts";

export interface CreateEffort {
  readonly rounds: number;
  /** Creates each contender answers in a round. */
  readonly count: number;
  readonly warmUp: number;
}

const clients = 16;
const titles: Readonly<Record<Kind, string>> = { ConfigMap: "ConfigMaps", Widget: "custom objects" };
const targets: Readonly<Record<Kind, Target>> = {
  ConfigMap: { relation: "at least", value: 2 },
  Widget: { relation: "at least", value: 2.5 },
};

/** Creates a second with 16 clients: over HTTPS on both, and through the in-process client. */
export async function createFigures(effort: CreateEffort): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), "bench-in-process-"));
  try {
    return await withBoth(async (both) => {
      await using inProcess = startInProcess(builtFolder(), directory);
      const figures: Figure[] = [];
      for (const kind of kinds) figures.push(...(await measureKind(kind, { ...both, inProcess }, effort)));
      return figures;
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

type Rates = Record<"ours" | "pair" | "inProcess", number[]>;

async function measureKind(
  kind: Kind,
  all: Both & { readonly inProcess: Load },
  effort: CreateEffort,
): Promise<Figure[]> {
  const loads = { ours: all.ours.load, pair: all.pair.load, inProcess: all.inProcess };
  const rates: Rates = { ours: [], pair: [], inProcess: [] };
  for (let round = -1; round < effort.rounds; round++) {
    for (const name of ["ours", "pair", "inProcess"] as const) {
      const count = round === -1 ? effort.warmUp : effort.count;
      const [seconds = 0] = await loads[name].do({ job: "create", kind, prefix: `r${round + 1}`, count, clients });
      if (round >= 0) rates[name].push(count / seconds);
    }
  }
  return figuresOf(kind, rates);
}

function figuresOf(kind: Kind, { ours, pair, inProcess }: Rates): Figure[] {
  const what = titles[kind];
  const fast = kind === "ConfigMap" ? ({ relation: "at least", value: 5 } as const) : undefined;
  return [
    figure(`creates: ${what}, embedded over HTTPS`, "/s", ours),
    figure(`creates: ${what}, kube-apiserver + etcd`, "/s", pair),
    figure(`creates: ${what}, embedded ÷ pair`, "×", ratios(ours, pair), targets[kind]),
    figure(`creates: ${what}, in process`, "/s", inProcess),
    figure(`creates: ${what}, in process ÷ pair`, "×", ratios(inProcess, pair), fast),
  ];
}
