// SPDX-License-Identifier: Apache-2.0
import { compositeControllerName, type DefinitionFacts } from "@purlin/composition";
import { createMemoryServer, mastersGroup } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { type KubeObject, keyOf, type ObjectKey } from "@purlin/kube-objects/object";
import { operationControllerName } from "@purlin/operations";
import { kindIdentity, LiveReads } from "./overlay/live-reads.ts";
import { failureText } from "./plan/composite-facts.ts";
import { assumeReady } from "./settle/assume.ts";
import { referencedBy } from "./settle/dependents.ts";
import { itemId } from "./settle/preview-engine.ts";
import { openPass, type Pass, type PlaneOptions, settle, startDefinitions } from "./settle/run-pass.ts";

const user = { name: "session", groups: [mastersGroup] };

/** An API server in memory from which sessions begin. Sessions do not change it, apart from kinds that they define. */
export interface SessionBase extends AsyncDisposable {
  readonly client: KubeClient;
  /** Serves the kinds of CRDs, unless CRDs of the same names are served already. */
  define(crds: readonly KubeObject[]): Promise<void>;
  /** Makes a namespace unless it is there. */
  ensureNamespace(name: string): Promise<void>;
}

/** Makes a server that serves the built-in kinds and those of CRDs. */
export async function createSessionBase(crds: readonly KubeObject[]): Promise<SessionBase> {
  const server = createMemoryServer({ kinds: builtinKinds });
  const client = createKubeClient(createDirectTransport(server.handle, user));
  const defined = new Map<string, Promise<void>>();
  const serve = async (crd: KubeObject): Promise<void> => {
    await server.put(crd);
    await server.served();
    client.mapper.forget();
  };
  // Sessions run at the same time: a CRD that is put again is not served for a moment.
  const defineOnce = (crd: KubeObject): Promise<void> => {
    const name = crd.metadata.name ?? "";
    const serving = defined.get(name) ?? serve(crd);
    defined.set(name, serving);
    return serving;
  };
  const define = async (definitions: readonly KubeObject[]): Promise<void> => {
    await Promise.all(definitions.map(defineOnce));
  };
  await define(crds);
  return {
    client,
    define,
    async ensureNamespace(name) {
      await server.put({ apiVersion: "v1", kind: "Namespace", metadata: { name }, status: { phase: "Active" } });
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

/** What a session runs with. */
interface SessionOptions extends Omit<PlaneOptions, "live"> {
  readonly base: SessionBase;
  readonly signal: AbortSignal;
}

/** A reconcile that failed. */
interface SessionFailure {
  readonly text: string;
  /** It changes something again in every reconcile. */
  readonly isUnsettled: boolean;
}

/**
 * The controllers of compositions over objects in memory, moved by hand: nothing is reconciled until a step is asked for. Sessions of
 * one base do not see each other's objects.
 */
export interface Session extends AsyncDisposable {
  /** Reads and writes objects, as users and controllers do. */
  readonly client: Pass["client"];
  /** Stores an object as it is, with its status, as if its own controller had written it. */
  store(object: KubeObject): Promise<void>;
  /** Starts the controllers of the definitions that exist now. */
  start(): Promise<void>;
  /** Reconciles a composite resource once, or a claim and its composite resource, or runs an Operation once, and whatever else is awake. */
  step(root: KubeObject): Promise<void>;
  /** Reconciles until nothing is awake. */
  settle(): Promise<void>;
  /** Whether a root, or its composite resource, would be reconciled next. */
  isAwake(root: KubeObject): Promise<boolean>;
  /** The composed resources of a composite resource. */
  composed(xr: KubeObject): Promise<readonly KubeObject[]>;
  /** Makes composed resources ready. */
  makeReady(resources: readonly KubeObject[]): Promise<void>;
  /** Why reconciles failed that have not succeeded since. */
  failures(): Promise<readonly SessionFailure[]>;
  /** Texts with which the API server refused objects that are still refused. */
  refusals(): readonly { readonly text: string; readonly isInvalid: boolean }[];
}

/** Opens a session on a base. */
export async function openSession({ base, signal, ...options }: SessionOptions): Promise<Session> {
  await using opening = new AsyncDisposableStack();
  const pass = openPass({ ...options, live: new LiveReads(base.client) }, opening);
  const opened = opening.move();
  return {
    client: pass.client,
    async store(object) {
      await pass.overlay.store(object, object, true);
    },
    start: () => startDefinitions(pass, signal),
    async step(root) {
      pass.engine.beginStep();
      await step(pass, root, signal);
    },
    async settle() {
      pass.engine.beginStep();
      await settle(pass, signal);
    },
    async isAwake(root) {
      const items = await itemsOf(pass, root);
      return items.some(({ controller, key }) => pass.engine.isAwake(controller, key));
    },
    async composed(xr) {
      const facts = (await pass.definitions()).find(isOf(xr));
      return facts === undefined ? [] : referencedBy(pass, xr, facts);
    },
    async makeReady(resources) {
      await assumeReady(pass, resources, []);
    },
    failures: () =>
      Promise.all(
        [...pass.engine.failures.values()].map(async (failure) => ({
          text: await failureText(failure, pass.overlay),
          isUnsettled: failure.isUnsettled,
        })),
      ),
    refusals: () => [...pass.overlay.entries.values()].flatMap(({ refusal }) => refusal ?? []),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const operationIdentity = kindIdentity({ apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation" });

interface RootItem {
  readonly controller: string;
  readonly key: ObjectKey;
}

/** Everything that is awake first, then the root itself, then what it woke: it stays awake itself if it changed anything. */
async function step(pass: Pass, root: KubeObject, signal: AbortSignal): Promise<void> {
  const held = async (): Promise<(id: string) => boolean> => heldItems(await itemsOf(pass, root));
  const claim = (await itemsOf(pass, root)).find((item) => !isComposite(item));
  await settle(pass, signal, await held());
  if (claim !== undefined) await pass.engine.reconcile(claim.controller, claim.key, signal);
  await settle(pass, signal, await held());
  const composite = (await itemsOf(pass, root)).find(isComposite);
  if (composite !== undefined) await pass.engine.reconcile(composite.controller, composite.key, signal);
  await settle(pass, signal, await held());
}

/** Composite resources wait for their turn, also one that a claim is about to make. */
function heldItems(items: readonly RootItem[]): (id: string) => boolean {
  const ids = new Set(items.filter(isComposite).map(itemId));
  if (ids.size > 0) return (id) => ids.has(id);
  const unbound = items.map(({ controller }) => `${compositeControllerName(controller.slice(claimPrefix.length))} `);
  return (id) => unbound.some((prefix) => id.startsWith(prefix));
}

const claimPrefix = "claim/";

const isComposite = ({ controller }: RootItem): boolean => !controller.startsWith(claimPrefix);

/** The keys that reconcile a root: of the claim and of its composite resource, of the composite resource alone, or of the Operation. */
async function itemsOf(pass: Pass, root: KubeObject): Promise<readonly RootItem[]> {
  if (kindIdentity(root) === operationIdentity) return [{ controller: operationControllerName, key: keyOf(root) }];
  const facts = (await pass.definitions()).find(isOf(root));
  if (facts === undefined) return [];
  const { name, compositeType } = facts;
  const controller = compositeControllerName(name);
  if (kindIdentity(root) === kindIdentity(compositeType)) return [{ controller, key: keyOf(root) }];
  const claim = { controller: `${claimPrefix}${name}`, key: keyOf(root) };
  const stored = await pass.overlay.get(root, keyOf(root));
  const bound = ((stored?.["spec"] ?? {}) as { readonly resourceRef?: { readonly name?: string } }).resourceRef?.name;
  return bound === undefined ? [claim] : [claim, { controller, key: { name: bound } }];
}

const isOf =
  (object: KubeObject) =>
  ({ compositeType, claimType }: DefinitionFacts): boolean =>
    [compositeType, claimType].some((type) => type !== undefined && kindIdentity(type) === kindIdentity(object));
