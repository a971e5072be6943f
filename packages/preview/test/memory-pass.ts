// SPDX-License-Identifier: Apache-2.0
// A pass that has ended, made of objects: plans are built from it without a control plane.
import { definitionFacts } from "@purlin/composition";
import type { KubeObject, keyOf } from "@purlin/kube-objects/object";
import { identityAt, identityOf } from "../src/overlay/live-reads.ts";
import { newEntry, type OverlayEntry } from "../src/overlay/overlay-entry.ts";
import type { ReconcileFailure } from "../src/settle/preview-engine.ts";
import type { Pass } from "../src/settle/run-pass.ts";

/** What a pass did. */
interface MemoryPassOptions {
  readonly entries?: readonly OverlayEntry[];
  readonly definitions?: readonly KubeObject[];
  /** Objects that were read and not written. */
  readonly others?: readonly KubeObject[];
  /** How often each key was reconciled, as `composite/apps.example.org default/web`. */
  readonly runs?: Readonly<Record<string, number>>;
  readonly failures?: readonly ReconcileFailure[];
  readonly held?: Pass["held"];
  readonly skipped?: readonly KubeObject[];
  readonly forecastFrom?: number;
  /** Why the live server did not judge writes. */
  readonly unjudged?: Pass["overlay"]["unjudged"];
}

/** An object that was changed, created (no form before) or deleted (no form now). */
export function entryOf(
  before: KubeObject | undefined,
  now: KubeObject | undefined,
  more: Partial<OverlayEntry> = {},
): OverlayEntry {
  return { ...newEntry(before), now, isChanged: true, ...more };
}

/** Makes one. */
export function memoryPass(options: MemoryPassOptions): Pass {
  const { entries = [], definitions = [], others = [], runs = {}, failures = [], skipped = [] } = options;
  const byId = new Map(
    entries.flatMap((entry): [string, OverlayEntry][] => {
      const object = entry.now ?? entry.before;
      return object === undefined ? [] : [[identityOf(object), entry]];
    }),
  );
  const find = async (type: KubeObject, key: Parameters<typeof identityAt>[1]): Promise<KubeObject | undefined> => {
    const id = identityAt(type, key);
    const entry = byId.get(id);
    return entry === undefined ? others.find((one) => identityOf(one) === id) : entry.now;
  };
  const pass = {
    overlay: { entries: byId, get: find, definitionOf: async () => undefined, unjudged: options.unjudged ?? new Map() },
    client: { get: find },
    engine: {
      runs: new Map(Object.entries(runs)),
      failures: new Map(failures.map((one) => [`${one.controller} ${keyTextOf(one.key)}`, one])),
    },
    definitions: async () => definitions.map(definitionFacts),
    skipped: [...skipped],
    held: options.held ?? new Map(),
    forecastFrom: options.forecastFrom ?? 99,
    incomplete: undefined,
  };
  return pass as unknown as Pass;
}

function keyTextOf({ namespace, name }: ReturnType<typeof keyOf>): string {
  return namespace ? `${namespace}/${name}` : name;
}
