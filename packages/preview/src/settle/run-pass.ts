// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { silentLog, systemClock } from "@purlin/base";
import {
  compositeControllerName,
  compositionKinds,
  type DefinitionFacts,
  definitionFacts,
  type Hold,
} from "@purlin/composition";
import { type ControlPlaneSettings, compositionControllers, defaultControlPlaneSettings } from "@purlin/control-plane";
import { Struct } from "@purlin/function-protocol";
import type { RequirementFetchers, RunStep } from "@purlin/function-runner";
import { type CacheChange, isNoMatch } from "@purlin/kube-client";
import { type ControllerClient, type EventRecorder, noEvents } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "@purlin/kube-objects/object";
import { createOperationController } from "@purlin/operations";
import { identityOf, kindIdentity, type LiveReads } from "../overlay/live-reads.ts";
import { Overlay } from "../overlay/overlay.ts";
import { collectGarbage, createOverlayClient } from "../overlay/overlay-client.ts";
import type { Writer } from "../overlay/overlay-entry.ts";
import { type Assumptions, assumeReady } from "./assume.ts";
import { dependentsOf, referencedBy } from "./dependents.ts";
import { requireEnd } from "./nesting.ts";
import { itemId, PreviewEngine } from "./preview-engine.ts";

/** Runs the functions of pipelines, and reads what they require, through the client of a pass. */
export interface PassFunctions {
  readonly runStep: RunStep;
  readonly fetchers: RequirementFetchers;
  close(): void;
}

/** One step of a change set. */
export type ApplyStage = (client: ControllerClient) => Promise<void>;

/** What controllers run over. */
export interface PlaneOptions {
  readonly live: LiveReads;
  readonly functions: (client: ControllerClient) => PassFunctions;
  readonly settings?: Partial<ControlPlaneSettings> | undefined;
  readonly hasControllerRights?: boolean | undefined;
  readonly parallel: number;
  readonly maxRounds: number;
  /** How deep composite resources may be nested in new ones; unlimited unless given. */
  readonly maxDepth?: number | undefined;
  /** Nothing more is reconciled once it is aborted. */
  readonly deadline?: AbortSignal | undefined;
  /** Gets the events of controllers; none are kept unless given. */
  readonly events?: EventRecorder | undefined;
  /** Called with every change of an object, and its writer. */
  readonly onWrite?: ((change: CacheChange, writer: Writer) => void) | undefined;
  /** Apply what would be held until it is approved, and report it. Otherwise it is held. */
  readonly appliesHeld?: boolean | undefined;
  /** The context with which every pipeline begins; empty unless given. */
  readonly context?: JsonObject | undefined;
}

/** What a pass runs. */
interface PassOptions extends PlaneOptions {
  /** Stages of the change set; everything settles after each. None for the baseline. */
  readonly stages: readonly ApplyStage[];
  /** The composite resources and claims to reconcile, whether or not the change set wakes them. */
  readonly roots: (pass: Pass) => Promise<readonly KubeObject[]>;
  readonly assume: Assumptions | undefined;
  readonly signal: AbortSignal;
}

/** A control plane that runs over an overlay until nothing changes. */
export interface Pass extends AsyncDisposable {
  readonly overlay: Overlay;
  readonly client: ControllerClient;
  readonly engine: PreviewEngine;
  /** The definitions, as the pass sees them now. */
  definitions(): Promise<readonly DefinitionFacts[]>;
  /** The definitions that the pass removed: what belongs to their composite resources goes with them. */
  removedDefinitions(): readonly DefinitionFacts[];
  /** Composite resources that are looked at and not reconciled. */
  readonly skipped: KubeObject[];
  /** What would hold composite resources, by their identity. */
  readonly held: ReadonlyMap<string, Hold>;
  /** The round in which the forecast began; rounds before it need no assumption. */
  forecastFrom: number;
  /** Why the forecast ended early. */
  incomplete: string | undefined;
}

/** Runs the real controllers over an overlay: the change set, then what it wakes, then what follows when composed resources become ready. */
export async function runPass(options: PassOptions): Promise<Pass> {
  const { signal } = options;
  await using closing = new AsyncDisposableStack();
  const pass = openPass(options, closing);
  const { engine } = pass;
  await startDefinitions(pass, signal);
  for (const stage of options.stages) {
    await stage(pass.client);
    await startDefinitions(pass, signal);
  }
  for (const root of await options.roots(pass)) await enqueueRoot(pass, root);
  await settle(pass, signal);
  await forecast(pass, options);
  const opened = closing.move();
  return Object.assign(pass, { engine, [Symbol.asyncDispose]: () => opened.disposeAsync() });
}

/** The controllers of compositions over an overlay; nothing is reconciled yet. What it opens is closed by `closing`. */
export function openPass(options: PlaneOptions, closing: AsyncDisposableStack): Pass {
  const engine: PreviewEngine = new PreviewEngine({
    mapper: () => client.mapper,
    parallel: options.parallel,
    maxRounds: options.maxRounds,
    written: (type) => overlay.written(type),
    version: () => overlay.version,
    deadline: options.deadline,
    beforeReconcile: ({ controller, key }) => requireEnd(overlay, { controller, key, maxDepth: options.maxDepth }),
  });
  const overlay = new Overlay({
    live: options.live,
    hasControllerRights: options.hasControllerRights,
    onChange(change) {
      options.onWrite?.(change, engine.writer());
      engine.changed(change);
    },
    writer: () => engine.writer(),
  });
  closing.defer(() => overlay.close());
  const client: ControllerClient = createOverlayClient(overlay);
  const held = new Map<string, Hold>();
  const onHeld = (xr: KubeObject, hold: Hold): void => {
    const id = identityOf(xr);
    if (!held.has(id)) held.set(id, hold);
  };
  const functionPlane = namedCalls(options.functions(client), engine);
  closing.defer(() => functionPlane.close());
  const controllers = compositionControllers({
    client,
    engine,
    events: options.events ?? noEvents,
    functionPlane,
    settings: { ...defaultControlPlaneSettings, ...options.settings, circuitBreaker: unlimited },
    clock: systemClock,
    log: silentLog,
    registry: undefined,
    random: repeatableNames(engine),
    onHeld: options.appliesHeld ? onHeld : undefined,
    context: options.context && Struct.rounded(options.context),
  });
  for (const { spec } of controllers) engine.start(spec);
  const watching = controllers.map(({ spec, watches }) => ({ name: spec.name, watches }));
  const started = Promise.all([
    ...watching.map(({ name, watches }) => engine.startWatches(name, watches)),
    startOperations({ client, engine, functionPlane, options }),
  ]);
  return {
    overlay,
    client,
    engine,
    skipped: [],
    held,
    forecastFrom: Number.POSITIVE_INFINITY,
    incomplete: undefined,
    async definitions() {
      await started;
      const all = await client.list(compositionKinds.definition);
      return all.map(definitionFacts);
    },
    removedDefinitions: () => overlay.removed(compositionKinds.definition).map(definitionFacts),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Functions whose calls are known to the engine while they run: a timeout names the one that did not respond. */
function namedCalls(functions: PassFunctions, engine: PreviewEngine): PassFunctions {
  return {
    ...functions,
    close: () => functions.close(),
    runStep: (reference, request, call) =>
      engine.calling(`step "${reference.step}" waits for Function "${reference.functionName}"`, () =>
        functions.runStep(reference, request, call),
      ),
  };
}

interface OperationsDeps {
  readonly client: ControllerClient;
  readonly engine: PreviewEngine;
  readonly functionPlane: PassFunctions;
  readonly options: PlaneOptions;
}

/** An Operation of the change set runs, and what it applies is part of the plan. A server may not serve its kind. */
async function startOperations({ client, engine, functionPlane, options }: OperationsDeps): Promise<void> {
  const { runStep, fetchers } = functionPlane;
  const { developmentFunctions, developmentTrust } = { ...defaultControlPlaneSettings, ...options.settings };
  const { spec, watches } = createOperationController({
    ...{ client, runStep, fetchers, clock: systemClock, log: silentLog },
    events: options.events ?? noEvents,
    developmentFunctions: developmentFunctions ? (developmentTrust ?? {}) : undefined,
  });
  engine.start(spec);
  try {
    await engine.startWatches(spec.name, watches);
  } catch (error) {
    if (!isNoMatch(error)) throw error;
    await engine.stop(spec.name);
  }
}

const unlimited = { burst: Number.MAX_SAFE_INTEGER, refillPerSecond: 1, cooldownMs: 1 };

/** The same names in every preview: each key that makes names has numbers of its own. */
function repeatableNames(engine: PreviewEngine): (max: number) => number {
  const counts = new Map<string, number>();
  return (max) => {
    const { controller, key } = engine.writer();
    const id = `${controller} ${key}`;
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    return createHash("sha256").update(`${id} ${count}`).digest().readUInt32BE(0) % max;
  };
}

const definitionControllers = [
  "defined/compositeresourcedefinition.apiextensions.crossplane.io",
  "offered/compositeresourcedefinition.apiextensions.crossplane.io",
];

/** Starts the controllers of composite resources and claims, as the definitions that exist now say. */
export async function startDefinitions(pass: Pass, signal: AbortSignal): Promise<void> {
  for (const { name } of await pass.definitions()) {
    for (const controller of definitionControllers) pass.engine.enqueue(controller, { name });
  }
  await settle(pass, signal);
}

/** Reconciles until no key is awake and nothing is left to collect. */
export async function settle(pass: Pass, signal: AbortSignal, isHeld?: (id: string) => boolean): Promise<void> {
  do await pass.engine.settle(signal, isHeld);
  while (await collectGarbage(pass.overlay, (owner) => dependentsOf(pass, owner)));
}

async function forecast(pass: Pass, { assume, maxRounds, signal, deadline }: PassOptions): Promise<void> {
  if (assume === undefined || deadline?.aborted === true) return;
  pass.forecastFrom = pass.engine.round + 1;
  for (let round = 0; round < maxRounds; round += 1) {
    const composed = await composedResources(pass);
    if (!(await assumeReady(pass, composed, assume))) return;
    await settle(pass, signal);
  }
}

async function enqueueRoot({ engine, definitions }: Pass, root: KubeObject): Promise<void> {
  for (const { name, compositeType, claimType } of await definitions()) {
    const key: ObjectKey = keyOf(root);
    if (kindIdentity(root) === kindIdentity(compositeType)) engine.enqueue(compositeControllerName(name), key);
    if (claimType !== undefined && kindIdentity(root) === kindIdentity(claimType)) engine.enqueue(`claim/${name}`, key);
  }
}

/** The composite resources that were reconciled in a pass and exist, with their definitions. */
async function reconciledComposites(
  pass: Pass,
): Promise<readonly { readonly xr: KubeObject; readonly facts: DefinitionFacts }[]> {
  const found: { readonly xr: KubeObject; readonly facts: DefinitionFacts }[] = [];
  for (const facts of await pass.definitions()) {
    const prefix = `${compositeControllerName(facts.name)} `;
    for (const id of pass.engine.runs.keys()) {
      if (!id.startsWith(prefix)) continue;
      const xr = await pass.overlay.get(facts.compositeType, keyFromText(id.slice(prefix.length)));
      if (xr !== undefined) found.push({ xr, facts });
    }
  }
  return found;
}

/** The inverse of keyText. */
export function keyFromText(text: string): ObjectKey {
  const slash = text.indexOf("/");
  const key = slash === -1 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
  if (keyText(key) !== text) throw new Error(`not a key: ${text}`);
  return key;
}

/** Composed resources of the reconciled composite resources that are not composite resources themselves. */
async function composedResources(pass: Pass): Promise<readonly KubeObject[]> {
  const composites = await reconciledComposites(pass);
  const kinds = new Set((await pass.definitions()).map(({ compositeType }) => kindIdentity(compositeType)));
  const composed: KubeObject[] = [];
  for (const { xr, facts } of composites) {
    // What a failed reconcile left behind forecasts nothing.
    if (pass.engine.failures.has(itemId({ controller: compositeControllerName(facts.name), key: keyOf(xr) }))) continue;
    for (const one of await referencedBy(pass, xr, facts)) if (!kinds.has(kindIdentity(one))) composed.push(one);
  }
  return composed;
}
