// SPDX-License-Identifier: Apache-2.0
import { silentLog, systemClock } from "@purlin/base";
import { createFunctionPlane, defaultControlPlaneSettings, startControlPlane } from "@purlin/control-plane";
import { createKubeClient, guardTransport, type KubeClient } from "@purlin/kube-client";
import { startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Plan, preview } from "@purlin/preview";
import { type Figure, figure } from "../measure/figure.ts";
import { applyPlatform, compositionOf, makeReady, serveFunction } from "./recorder.ts";

/** How much of everything. */
export interface DiffEffort {
  readonly rounds: number;
  /** Composite resources that a changed Composition touches. */
  readonly count: number;
  /** Composite resources of which one is saved. */
  readonly few: number;
}

const settings = { developmentFunctions: true };

/** The time from a changed Composition or composite resource to the plan, over a control plane with a function in processes of their own. */
export async function diffFigures({ rounds, count, few }: DiffEffort): Promise<Figure[]> {
  await using closing = new AsyncDisposableStack();
  const server = await startTestServer();
  closing.defer(() => server.stop());
  const fn = closing.use(await serveFunction());
  const users = createKubeClient(server.connect());
  const control = createKubeClient(server.connect("crossplane"));
  const client = createKubeClient(guardTransport(server.connect("preview")));
  closing.defer(async () => void (await Promise.all([users.close(), control.close(), client.close()])));
  const plane = closing.use(startControlPlane({ client: control, functions: { security: "plaintext" }, settings }));
  await plane.ready;
  await applyPlatform(users, fn.address);
  await makeReady(users, "few", few);
  const saved = await timed(rounds, (round) => planOf(client, savedApp(round), undefined));
  await makeReady(users, "more", count - few);
  const changed = await timed(rounds, (round) => planOf(client, compositionOf(`compose-${round}`), []));
  return [
    figure(`diff: a Composition of ${count} XRs`, "ms", changed, { relation: "at most", value: 5000 }),
    figure(`dev: a saved XR, ${few} XRs on the control plane`, "ms", saved, { relation: "at most", value: 500 }),
  ];
}

/** The first round warms up. */
async function timed(rounds: number, work: (round: number) => Promise<Plan>): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const began = performance.now();
    const plan = await work(round);
    if (plan.summary.modified === 0) throw new Error("the plan has no change");
    if (round > 0) times.push(performance.now() - began);
  }
  return times;
}

function savedApp(round: number): KubeObject {
  return {
    apiVersion: "example.org/v1",
    kind: "App",
    metadata: { name: "few-0", namespace: "default" },
    spec: { text: `saved-${round}` },
  } as KubeObject;
}

function planOf(client: KubeClient, object: KubeObject, assume: readonly [] | undefined): Promise<Plan> {
  const namespace = "default";
  const options = {
    client,
    functions: { security: "plaintext" as const },
    settings: { ...defaultControlPlaneSettings, ...settings },
    clock: systemClock,
    log: silentLog,
  };
  return preview({
    client,
    changes: { stages: [[object]], deletes: [], applyAs: { mode: "auto" }, namespace },
    functionStages: [],
    functions: (overlay) => createFunctionPlane(options, overlay),
    roots: { functions: [], only: [], namespace },
    settings,
    assume,
    baseline: true,
    projection: { status: false, owners: false },
    ignores: () => false,
    parallel: 8,
    maxRounds: 20,
    signal: AbortSignal.timeout(120_000),
  });
}
