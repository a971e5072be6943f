// SPDX-License-Identifier: Apache-2.0
// An overlay over an API server in memory. Tests count the requests that the server gets, and decide which of them fail.
import { definitionFacts } from "@purlin/composition";
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, keyOf } from "@purlin/kube-objects/object";
import { identityAt, identityOf, LiveReads } from "../src/overlay/live-reads.ts";
import { Overlay } from "../src/overlay/overlay.ts";
import { createOverlayClient } from "../src/overlay/overlay-client.ts";
import { newEntry, type OverlayEntry, type Writer } from "../src/overlay/overlay-entry.ts";
import type { Plan, PlannedChange, PlannedComposite } from "../src/plan/plan.ts";
import type { ReconcileFailure } from "../src/settle/preview-engine.ts";
import type { Pass } from "../src/settle/run-pass.ts";

const verbs = ["apply", "create", "update", "patch", "delete"] as const;

/** An overlay and what happens to it. */
interface OverlayStage extends AsyncDisposable {
  readonly overlay: Overlay;
  readonly client: ControllerClient;
  /** The writes that the live server got, such as `create` or `create (stored)`: all should be dry runs. */
  readonly sent: string[];
  /** The changes that the overlay reported, such as `added a`. */
  readonly changes: string[];
  /** The writer. */
  writer: Writer;
  /** The error of the next write that the live server gets. */
  refusal: unknown;
  /** The error of every list. */
  unlisted: unknown;
  entry(object: KubeObject): OverlayEntry | undefined;
}

/** Makes one over the server of a client. */
export function overlayStage(
  base: KubeClient,
  { hasControllerRights = false }: { readonly hasControllerRights?: boolean } = {},
): OverlayStage {
  const sent: string[] = [];
  const changes: string[] = [];
  const write = (verb: (typeof verbs)[number]) => async (one: never, two: never, three: never) => {
    const options = (verb === "patch" ? three : two) as { readonly dryRun?: boolean } | undefined;
    sent.push(options?.dryRun === true ? verb : `${verb} (stored)`);
    const { refusal } = stage;
    stage.refusal = undefined;
    if (refusal !== undefined) throw refusal;
    return (base[verb] as (one: never, two: never, three: never) => Promise<KubeObject>)(one, two, three);
  };
  const list: KubeClient["list"] = async (type, options) => {
    if (stage.unlisted !== undefined) throw stage.unlisted;
    return base.list(type, options);
  };
  const live = { ...base, list, ...Object.fromEntries(verbs.map((verb) => [verb, write(verb)])) } as KubeClient;
  const overlay = new Overlay({
    live: new LiveReads(live),
    hasControllerRights,
    onChange: ({ type, object }) => void changes.push(`${type} ${object.metadata.name}`),
    writer: () => stage.writer,
  });
  const stage: OverlayStage = {
    overlay,
    client: createOverlayClient(overlay),
    sent,
    changes,
    writer: { controller: "test", key: "default/test", round: 1 },
    refusal: undefined,
    unlisted: undefined,
    entry: (object) => overlay.entries.get(identityOf(object)),
    [Symbol.asyncDispose]: () => overlay.close(),
  };
  return stage;
}

/** A ConfigMap in the namespace `default`. */
export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = {},
  namespace = "default",
): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}

/** The definition of `apps.example.org`, with the properties of its spec. */
export function appDefinition(properties: JsonObject, more: JsonObject = {}): KubeObject {
  const schema = { type: "object", properties: { spec: { type: "object", properties } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "apps.example.org" },
    spec: {
      group: "example.org",
      names: { kind: "App", listKind: "AppList", plural: "apps", singular: "app" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      ...more,
    },
  };
}

// A pass that has ended, made of objects: plans are built from it without a control plane.

/** What a pass did. */
interface MemoryPassOptions {
  readonly entries?: readonly OverlayEntry[];
  readonly definitions?: readonly KubeObject[];
  /** Objects that were read and not written. */
  readonly others?: readonly KubeObject[];
  /** Names of objects that cannot be read, with the failure. */
  readonly unreadable?: Readonly<Record<string, Error>>;
  /** How often each key was reconciled, as `composite/apps.example.org default/web`. */
  readonly runs?: Readonly<Record<string, number>>;
  readonly failures?: readonly ReconcileFailure[];
  readonly held?: Pass["held"];
  readonly skipped?: readonly KubeObject[];
  readonly forecastFrom?: number;
  /** The CustomResourceDefinition of every kind. */
  readonly crd?: KubeObject;
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
    const unreadable = options.unreadable?.[key.name];
    if (unreadable !== undefined) throw unreadable;
    const id = identityAt(type, key);
    const entry = byId.get(id);
    return entry === undefined ? others.find((one) => identityOf(one) === id) : entry.now;
  };
  const pass = {
    overlay: {
      entries: byId,
      get: find,
      definitionOf: async () => options.crd,
      unjudged: options.unjudged ?? new Map(),
    },
    client: { get: find },
    engine: {
      runs: new Map(Object.entries(runs)),
      failures: new Map(failures.map((one) => [`${one.controller} ${keyTextOf(one.key)}`, one])),
    },
    definitions: async () => definitions.map(definitionFacts),
    removedDefinitions: () => [],
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

/** An update of `ConfigMap default/one`. */
export function plannedChange(more: Partial<PlannedChange> = {}): PlannedChange {
  return {
    class: "update",
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: "default",
    name: "one",
    isNameGenerated: false,
    round: 1,
    approximate: [],
    isDestructive: false,
    fields: [{ path: "data.text", op: "replace", old: "a", new: "b" }],
    digest: "d",
    old: { data: { text: "a" } },
    new: { data: { text: "b" } },
    ...more,
  };
}

/** `App default/web` with changes. */
export function plannedComposite(
  changes: readonly PlannedChange[],
  more: Partial<PlannedComposite> = {},
): PlannedComposite {
  return {
    apiVersion: "example.org/v1",
    kind: "App",
    namespace: "default",
    name: "web",
    isNameGenerated: false,
    adoption: "unaffected",
    rounds: 1,
    changes,
    pending: [],
    isDeferred: false,
    errors: [],
    ...more,
  };
}

/** The counts of an empty plan. */
export const noChanges: Plan["summary"] = {
  added: 0,
  modified: 0,
  removed: 0,
  replaced: 0,
  recreated: 0,
  refused: 0,
  pending: 0,
  destructive: 0,
};

/** A plan of composite resources. */
export function planOf(composites: readonly PlannedComposite[], more: Partial<Plan> = {}): Plan {
  return {
    inputs: [],
    composites,
    examined: composites.length,
    findings: [],
    errors: [],
    summary: noChanges,
    hash: "h",
    isStale: false,
    hasBaseline: true,
    warnings: [],
    functions: [],
    ...more,
  };
}
