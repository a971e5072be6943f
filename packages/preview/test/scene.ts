// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { silentLog, systemClock } from "@purlin/base";
import { createUsageGuard } from "@purlin/composition";
import {
  type ControlPlaneSettings,
  createFunctionPlane,
  defaultControlPlaneSettings,
  startControlPlane,
} from "@purlin/control-plane";
import {
  nopLogger,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type RunningFunction,
  response,
  start,
} from "@purlin/function-sdk";
import { createKubeClient, guardTransport, type KubeClient, type KubeTransport } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { eventually, recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, keyOf, textAt } from "@purlin/kube-objects/object";
import type { Plan } from "../src/plan/plan.ts";
import { type PreviewOptions, preview } from "../src/preview.ts";
import type { PassFunctions } from "../src/settle/run-pass.ts";
import { appFields, claimDefinition, composition, definition, functionAt, widgetCrd } from "./scene-objects.ts";

/** What a test changes of a preview. */
type PreviewChanges = Partial<Omit<PreviewOptions, "changes">> & {
  readonly objects?: readonly KubeObject[];
  readonly stages?: PreviewOptions["changes"]["stages"];
  readonly deletes?: PreviewOptions["changes"]["deletes"];
  readonly transport?: (inner: KubeTransport) => KubeTransport;
};

/** A live control plane with kinds of its own, and previews of it. */
export interface Scene extends AsyncDisposable {
  readonly users: KubeClient;
  /** Every request that previews sent, as `METHOD path`. */
  readonly sent: string[];
  /** The addresses of the function in its versions `one` and `two`. */
  readonly functions: Readonly<Record<"one" | "two", string>>;
  preview(changes: PreviewChanges): Promise<Plan>;
  apply(...objects: readonly KubeObject[]): Promise<void>;
  /** Waits until composite resources have been reconciled as they are now, and no object changes. */
  settled(...objects: readonly KubeObject[]): Promise<void>;
}

const manager = { fieldManager: "purlin-apply", force: true } as const;

/** Starts a control plane with Apps, Parts, Widgets and Things. */
export async function startScene(more: Partial<ControlPlaneSettings> = {}): Promise<Scene> {
  await using closing = new AsyncDisposableStack();
  const server = await startTestServer({ guardDelete: createUsageGuard() });
  closing.defer(() => server.stop());
  const users = createKubeClient(server.connect());
  closing.defer(() => users.close());
  const serve = async (version: string): Promise<RunningFunction> =>
    closing.use(
      await start(sceneFunction(version), {
        address: "127.0.0.1:0",
        insecure: true,
        metricsAddress: "",
        log: nopLogger,
      }),
    );
  const [one, two] = [await serve("one"), await serve("two")];
  const planeClient = createKubeClient(server.connect("crossplane"));
  closing.defer(() => planeClient.close());
  const settings = { developmentFunctions: true };
  const plane = startControlPlane({
    client: planeClient,
    functions: { security: "plaintext" },
    settings: { ...settings, ...more },
  });
  closing.defer(() => plane.stop());
  await plane.ready;
  const sent: string[] = [];
  const scene: Omit<Scene, typeof Symbol.asyncDispose> = {
    users,
    sent,
    functions: { one: one.address, two: two.address },
    async apply(...objects) {
      for (const object of objects) await eventually(`${object.kind} is taken`, () => users.apply(object, manager));
    },
    async settled(...objects) {
      for (const object of objects) {
        await eventually(`${object.kind} ${object.metadata.name} is synced`, async () => {
          const found = await users.get(object, keyOf(object));
          const synced = conditionOf(conditionsOf(found), "Synced");
          return synced?.status === "True" && (synced.observedGeneration ?? 0) >= (found.metadata.generation ?? 0);
        });
      }
      await quiet(users);
    },
    async preview({ objects = [], stages = [objects], deletes = [], transport = (inner) => inner, ...more }) {
      const recorded = recordRequests(server.connect("preview"), sent);
      const client = createKubeClient(guardTransport(transport(recorded.transport)));
      try {
        return await preview({
          client,
          changes: { stages, deletes, applyAs: { mode: "auto" }, namespace: "default" },
          functionStages: [],
          functions: (overlay) => planeFunctions(client, overlay),
          roots: { functions: [], only: [], namespace: "default" },
          settings,
          assume: [],
          baseline: true,
          projection: { status: false, owners: false },
          ignores: () => false,
          parallel: 8,
          maxRounds: 20,
          signal: AbortSignal.timeout(600_000),
          ...more,
        });
      } finally {
        await client.close();
      }
    },
  };
  await scene.apply(
    widgetCrd,
    functionAt(one.address),
    definition("App", appFields),
    definition("Part", appFields),
    claimDefinition,
  );
  await scene.apply(composition("App", "first"), composition("Part", "inner"), composition("XThing", "thing"));
  await eventually("every Composition has a revision", async () => {
    const { items } = await users.list({ apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" });
    return items.length >= 3;
  });
  const opened = closing.move();
  return { ...scene, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Calls functions where the objects of a preview say. */
export function planeFunctions(client: KubeClient, overlay: ControllerClient): PassFunctions {
  const options = {
    client,
    functions: { security: "plaintext" as const },
    settings: { ...defaultControlPlaneSettings, developmentFunctions: true },
    clock: systemClock,
    log: silentLog,
  };
  return createFunctionPlane(options, overlay);
}

/** Waits until the resource version of the server stays the same for a moment. */
async function quiet(users: KubeClient): Promise<void> {
  let [last, same] = ["", 0];
  while (same < 4) {
    const { resourceVersion } = await users.list({ apiVersion: "example.org/v1", kind: "App" });
    same = resourceVersion === last ? same + 1 : 0;
    last = resourceVersion;
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

interface SceneSpec {
  readonly text?: string;
  readonly mode?: string;
  readonly count?: number;
  readonly nested?: number;
  readonly gate?: boolean;
  readonly password?: string;
  readonly fail?: string;
  readonly kind?: string;
  readonly withhold?: boolean;
}

/** The function of the scene: what it composes depends on the composite resource, on its input, and on its own version. */
function sceneFunction(version: string): (req: RunFunctionRequest) => RunFunctionResponse {
  return (req) => {
    const rsp = response.to(req);
    const xr = req.observed?.composite?.resource?.value;
    const { mode } = (req.input?.value ?? {}) as { readonly mode?: string };
    if (xr === undefined) {
      operate(rsp, mode ?? "");
      return rsp;
    }
    compose(rsp, { xr, spec: (xr["spec"] ?? {}) as SceneSpec, mode: mode ?? "", version, req });
    return rsp;
  };
}

/** What the function applies in an Operation. */
function operate(rsp: RunFunctionResponse, mode: string): void {
  if (mode === "fail") response.fatal(rsp, "asked to fail");
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "operated", namespace: "default" } };
  response.setDesiredComposedResource(rsp, "map", { ...object, data: { mode } });
}

interface Composing {
  readonly xr: JsonObject;
  readonly spec: SceneSpec;
  readonly mode: string;
  readonly version: string;
  readonly req: RunFunctionRequest;
}

function compose(rsp: RunFunctionResponse, { xr, spec, mode, version, req }: Composing): void {
  const set = (name: string, object: JsonObject): void =>
    response.setDesiredComposedResource(rsp, name, object as never, { ready: true });
  const map = (data: JsonObject): JsonObject => ({ apiVersion: "v1", kind: "ConfigMap", data });
  // A cluster-scoped composite resource composes into a namespace that its function names.
  const place = (object: JsonObject): JsonObject =>
    xr["kind"] === "XThing" ? { ...object, metadata: { namespace: "default" } } : object;
  if (spec.fail === version || spec.fail === mode) {
    response.fatal(rsp, `asked to fail: ${spec.fail}`);
    return;
  }
  const isTwo = version === "two";
  const isOther = spec.kind === "Widget" || (isTwo && spec.mode === "two replaces");
  if (isOther) set("map", { apiVersion: "things.example.org/v1", kind: "Widget", spec: { color: "red" } });
  else set("map", place(map({ text: spec.text ?? "", mode, version, ...extrasOf(spec) })));
  const count = isTwo && spec.mode === "two deletes" ? 1 : (spec.count ?? 1);
  for (let at = 1; at < count; at += 1) set(`item-${at}`, map({ at: String(at), mode }));
  if (spec.kind === "Random") set("random", map({ text: spec.text ?? "", token: randomUUID() }));
  if (spec.kind === "Count") {
    const counted = req.observed?.resources.get("count")?.resource?.value ?? {};
    set("count", map({ n: String(Number(textAt(counted, ["data", "n"]) ?? 0) + 1) }));
  }
  if (spec.kind === "Rotate")
    set("secret", { apiVersion: "v1", kind: "Secret", stringData: { password: `rotated-${randomUUID()}` } });
  if (spec.kind === "Usage") {
    const of = { apiVersion: "v1", kind: "ConfigMap", resourceSelector: { matchControllerRef: true } };
    const apiVersion = "protection.crossplane.io/v1beta1";
    set("usage", { apiVersion, kind: "Usage", spec: { of, reason: "order", replayDeletion: true } });
  }
  if (spec.kind === "Loop") {
    const kind = xr["kind"] === "App" ? "Part" : "App";
    set("loop", { apiVersion: "example.org/v1", kind, spec: { kind: "Loop" } });
  }
  if (spec.nested !== undefined)
    set("part", { apiVersion: "example.org/v1", kind: "Part", spec: { count: spec.nested, text: spec.text ?? "" } });
  if (spec.password !== undefined)
    set("secret", { apiVersion: "v1", kind: "Secret", stringData: { password: spec.password } });
  if (spec.gate === true) composeGate(set, req, spec);
}

function composeGate(set: (name: string, object: JsonObject) => void, req: RunFunctionRequest, spec: SceneSpec): void {
  const color = spec.mode === "blue" ? "blue" : "red";
  const deletionPolicy = spec.mode === "orphan" ? { deletionPolicy: "Orphan" } : {};
  const wanted = { color, forProvider: { region: "here" }, ...deletionPolicy };
  set("gate", { apiVersion: "things.example.org/v1", kind: "Widget", spec: wanted });
  const gate = req.observed?.resources.get("gate")?.resource?.value as KubeObject | undefined;
  // A function that waits until its change has arrived withholds what depends on it meanwhile.
  const isCurrent = spec.withhold !== true || textAt(gate ?? {}, ["spec", "color"]) === color;
  const isReady = gate !== undefined && conditionOf(conditionsOf(gate), "Ready")?.status === "True";
  if (isCurrent && isReady) set("late", { apiVersion: "v1", kind: "ConfigMap", data: { text: spec.text ?? "" } });
}

/** Fields that definitions add later, such as `extra1`. */
function extrasOf(spec: SceneSpec): JsonObject {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => name.startsWith("extra"))) as JsonObject;
}
