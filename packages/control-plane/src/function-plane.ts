// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import { clientReader, functionRevisionsOf, functionType } from "@purlin/composition";
import {
  createDevelopmentResolver,
  createFunctionRunner,
  createResourceFetcher,
  createRevisionResolver,
  createRolloutResolver,
  createSchemaFetcher,
  createStepRunner,
  type FunctionResolver,
  type FunctionRevisions,
  type Functions,
  type FunctionTarget,
  type LiveRevisions,
  limitPipelines,
  type OpenAPIReader,
  type RequirementFetchers,
  type Rollouts,
  type RunStep,
  type SchemaFetcher,
  shadowSteps,
} from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "@purlin/kube-objects/json";
import type { OpenAPISource } from "@purlin/kube-objects/openapi";
import { createRevisionLeases, type RevisionLeases, rolloutType } from "@purlin/package-manager";
import { type CallSamples, createCallSamples, sampledRunner } from "@purlin/rollout";

import type { ControlPlaneOptions, ControlPlaneSettings } from "./control-plane-options.ts";
import { createShadowPlane, type ShadowPlane } from "./shadow-plane.ts";

/** Runs functions for controllers, and reads their requirements. */
export interface FunctionPlane {
  readonly runStep: RunStep;
  readonly fetchers: RequirementFetchers;
  /** To be called when a CRD changes or is gone, with the kinds it serves as `apiVersion/Kind`. */
  kindsChanged(kinds: readonly string[], isGone: boolean): void;
  /** The calls of functions, where rollouts judge them. */
  readonly samples: CallSamples | undefined;
  /** The rollouts, where they are on. */
  readonly rollouts: Rollouts | undefined;
  /** What candidates of rollouts would change. */
  readonly shadow: ShadowPlane | undefined;
  close(): void;
}

/** Makes the one runner of a process: its connections, caches and metrics are shared by all controllers. */
export function createFunctionPlane(
  options: ControlPlaneOptions & {
    readonly clock: Clock;
    readonly settings: ControlPlaneSettings;
    /** Run candidates of rollouts beside the revisions that serve: not in previews. */
    readonly shadows?: boolean | undefined;
  },
  client: ControllerClient,
): FunctionPlane {
  const { clock, log, registry, functions, settings } = options;
  const recent = createRecentKinds(clock);
  const published = createSchemaFetcher(serverOpenAPI(options.client), clock);
  const schemas = awaitPublication(published, { recent, clock });
  const resources = createResourceFetcher(clientReader(client), functions.answerLimits);
  const fetchers = { resources, schema: schemas.schema };
  const revisions = functionRevisionsOf(client);
  const revisionSelectors = settings.functionRevisionSelectors;
  const byRevision = createRevisionResolver(revisions, { revisionSelectors });
  const samples = settings.functionRollouts ? createCallSamples(() => clock.now()) : undefined;
  const resolver = createDevelopmentResolver(withRollouts(byRevision, client, samples), {
    functions: functionsOf(client),
    allowed: settings.developmentFunctions,
    trust: settings.developmentTrust ?? {},
    revisionSelectors,
    sources: functions.sources,
    live: liveRevisions(revisions),
  });
  const { security, names, sink, answerLimits, asCrossplane, responseCache: cache } = functions;
  const calls = { security, names, sink, answerLimits, asCrossplane, cache };
  const runner = createFunctionRunner({ ...calls, fetchers, live: resolver.live, registry, clock, log });
  const leases = options.packages?.leases ?? createRevisionLeases();
  const sampled = samples === undefined ? runner : sampledRunner(runner, samples, clock);
  const runStep = limitPipelines(createStepRunner(leasingResolver(resolver, leases), sampled), answerLimits);
  const hasShadows = settings.functionRollouts && options.shadows === true;
  const shadow = hasShadows
    ? createShadowPlane({ ...options, schema: schemas.schema, live: resolver.live })
    : undefined;
  return {
    runStep: shadow === undefined ? runStep : shadowSteps(runStep, shadow.runs),
    shadow,
    samples,
    rollouts: settings.functionRollouts ? rolloutsOf(client) : undefined,
    fetchers,
    kindsChanged(kinds, isGone) {
      // The schema of a kind that is no longer served is not waited for.
      if (isGone) recent.gone(kinds);
      else recent.changed(kinds);
      schemas.invalidate();
    },
    close() {
      shadow?.close();
      runner.close();
    },
  };
}

function rolloutsOf(client: ControllerClient): Rollouts {
  return { list: (signal) => client.list(rolloutType, { signal }) };
}

/** Rollouts are read only where they are on. */
function withRollouts(
  resolver: FunctionResolver,
  client: ControllerClient,
  samples: CallSamples | undefined,
): FunctionResolver {
  if (samples === undefined) return resolver;
  return createRolloutResolver(resolver, {
    rollouts: rolloutsOf(client),
    onUnresolved: (revision) => samples.unresolved(revision),
  });
}

function functionsOf(client: ControllerClient): Functions {
  return {
    get: (name, signal) => client.get(functionType, { name }, { signal }),
    list: (signal) => client.list(functionType, { signal }),
  };
}

/** Connections to any other revision are closed. */
function liveRevisions(revisions: FunctionRevisions): LiveRevisions {
  return {
    async list() {
      const all = await revisions.list(new Map());
      const active = all.filter((one) => (one["spec"] as JsonObject | undefined)?.["desiredState"] === "Active");
      return active.map((one) => String((one["metadata"] as JsonObject)["name"]));
    },
  };
}

/** A resolver whose targets lease their revision from the start of a run to its end, so that the revision is not stopped meanwhile. */
export function leasingResolver(resolver: FunctionResolver, leases: RevisionLeases): FunctionResolver {
  return {
    async resolve(reference, signal) {
      const target = await resolver.resolve(reference, signal);
      const { shadow } = target;
      if (shadow === undefined) return leased(target, leases);
      return { ...leased(target, leases), shadow: { ...shadow, candidate: leased(shadow.candidate, leases) } };
    },
  };
}

function leased(target: FunctionTarget, leases: RevisionLeases): FunctionTarget {
  const acquire = (): (() => void) => {
    const release = target.acquire?.();
    const lease = leases.acquire(target.revisionName, target.endpoint);
    return () => {
      lease.release();
      release?.();
    };
  };
  return { ...target, acquire };
}

/** Reads the OpenAPI v3 documents of an API server. */
export function serverOpenAPI(client: Pick<KubeClient, "raw">): OpenAPIReader {
  return {
    async index() {
      const answer = asJson(await client.raw({ method: "GET", path: "/openapi/v3" }));
      const paths = isJsonObject(answer) && isJsonObject(answer["paths"]) ? answer["paths"] : {};
      return new Map(
        Object.entries(paths).flatMap(([key, entry]) => {
          const url = isJsonObject(entry) ? entry["serverRelativeURL"] : undefined;
          return typeof url === "string" ? [[key, url] as const] : [];
        }),
      );
    },
    async document(url) {
      const { pathname, searchParams } = new URL(url, "http://api");
      const query = Object.fromEntries(searchParams);
      const answer = asJson(await client.raw({ method: "GET", path: pathname, query }));
      return isJsonObject(answer) ? (answer as OpenAPISource) : {};
    },
  };
}

/** kube-apiserver serves its index as plain text. */
function asJson(answer: JsonValue): JsonValue {
  return typeof answer === "string" ? parseJson(answer) : answer;
}

/** The kinds whose CRD changed a moment ago. */
interface RecentKinds {
  /** A CRD that serves these kinds, as `apiVersion/Kind`, has changed. */
  changed(kinds: readonly string[]): void;
  /** These kinds are no longer served. */
  gone(kinds: readonly string[]): void;
  has(kind: string): boolean;
}

// Servers publish the schema of a kind within seconds after they began to serve it.
const recentMs = 10_000;
const lookAgainMs = 250;

/** Remembers kinds for ten seconds. */
export function createRecentKinds(clock: Clock): RecentKinds {
  const until = new Map<string, number>();
  return {
    changed(kinds) {
      const now = clock.now();
      for (const [kind, end] of until) if (end <= now) until.delete(kind);
      for (const kind of kinds) until.set(kind, now + recentMs);
    },
    gone(kinds) {
      for (const kind of kinds) until.delete(kind);
    },
    has: (kind) => (until.get(kind) ?? 0) > clock.now(),
  };
}

/**
 * A fetcher that gives the server time to publish the schema of a kind it has just begun to serve: a function that asks
 * for it gets it, instead of the answer that there is no such kind.
 */
export function awaitPublication(
  fetcher: SchemaFetcher,
  { recent, clock }: { readonly recent: RecentKinds; readonly clock: Clock },
): SchemaFetcher {
  let next: Promise<void> | undefined;
  // All waiting readers share one poll.
  const untilNextLook = (): Promise<void> => {
    next ??= new Promise<void>((resolve) => {
      clock.schedule(lookAgainMs, () => {
        next = undefined;
        fetcher.invalidate();
        resolve();
      });
    });
    return next;
  };
  return {
    invalidate: () => fetcher.invalidate(),
    async schema(selector) {
      for (;;) {
        const answer = await fetcher.schema(selector);
        const isAwaited = recent.has(`${selector.apiVersion}/${selector.kind}`);
        if (answer.openapiV3 !== undefined || !isAwaited) return answer;
        await untilNextLook();
      }
    },
  };
}
