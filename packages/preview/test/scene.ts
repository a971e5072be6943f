// SPDX-License-Identifier: Apache-2.0
import { silentLog, systemClock } from "@purlin/base";
import { createUsageGuard } from "@purlin/composition";
import {
  type ControlPlaneSettings,
  createFunctionPlane,
  defaultControlPlaneSettings,
  startControlPlane,
} from "@purlin/control-plane";
import { nopLogger, type RunningFunction, start } from "@purlin/function-sdk";
import { createKubeClient, guardTransport, type KubeClient, type KubeTransport } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { eventually, recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, conditionsOf, keyOf } from "@purlin/kube-objects/object";
import type { Plan } from "../src/plan/plan.ts";
import { type PreviewOptions, preview } from "../src/preview.ts";
import type { PassFunctions } from "../src/settle/run-pass.ts";
import { sceneFunction } from "./scene-function.ts";
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
  /** Waits until composite resources have been reconciled as they are now, and no object changes any more. */
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
