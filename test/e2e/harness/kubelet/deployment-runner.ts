// SPDX-License-Identifier: Apache-2.0
// One Deployment: its pod, replaced by the rules of a rolling update, and its status.
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeObject } from "@purlin/kube-objects/object";
import { deploymentStatus, type PodCounts } from "./deployment-status.ts";
import type { Pod } from "./pod.ts";
import { deploymentSpecOf, type PodTemplate } from "./pod-spec.ts";

/** What a Deployment is run with. */
export interface DeploymentPorts {
  start(template: PodTemplate): Promise<Pod>;
  writeStatus(deployment: KubeObject, status: object): Promise<void>;
}

interface RunningPod {
  readonly pod: Pod;
  readonly hash: string;
  isReady: boolean;
}

const grpcPort = 9443;
const retryMs = 200;
const longestRestartMs = 5_000;

/** Keeps one pod of the newest template; an older one goes when the newer is ready. */
export class DeploymentRunner {
  readonly #ports: DeploymentPorts;
  readonly #pods = new Set<RunningPod>();
  #deployment: KubeObject | undefined;
  #work: Promise<void> = Promise.resolve();
  #isDue = false;
  #isClosed = false;
  #restarts = 0;

  constructor(ports: DeploymentPorts) {
    this.#ports = ports;
  }

  /** The Deployment as it is now; undefined when it is gone. */
  follow(deployment: KubeObject | undefined): void {
    this.#deployment = deployment;
    this.#wake();
  }

  /** The pods that take calls. */
  ready(): readonly Pod[] {
    return [...this.#pods].filter(({ isReady }) => isReady).map(({ pod }) => pod);
  }

  /** All pods that have not ended. */
  all(): readonly Pod[] {
    return [...this.#pods].map(({ pod }) => pod);
  }

  /** Ends all pods, whatever their Deployment asks for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.follow(undefined);
    await this.#work;
    await this.#stopAllBut(undefined);
  }

  #wake(afterMs = 0): void {
    if (afterMs > 0) {
      setTimeout(() => this.#wake(), afterMs).unref();
      return;
    }
    if (this.#isDue) return;
    this.#isDue = true;
    this.#work = this.#work.then(async () => {
      this.#isDue = false;
      // A node continues, whatever an API server answers.
      await this.#sync().catch(() => this.#wake(retryMs));
    });
  }

  async #sync(): Promise<void> {
    const deployment = this.#deployment;
    const spec = deployment && deploymentSpecOf(deployment);
    const wanted = spec === undefined ? 0 : (spec.replicas ?? 1);
    const hash = JSON.stringify(spec?.template);
    if (deployment !== undefined) await this.#writeStatus(deployment, { wanted, hash });
    if (spec !== undefined && wanted > 0 && !this.#isClosed && !this.#has(hash)) await this.#start(spec.template, hash);
    const isReplaced = wanted === 0 || [...this.#pods].some((one) => one.hash === hash && one.isReady);
    if (isReplaced) await this.#stopAllBut(wanted === 0 ? undefined : hash);
    if (deployment !== undefined) await this.#writeStatus(deployment, { wanted, hash });
  }

  #has(hash: string): boolean {
    return [...this.#pods].some((one) => one.hash === hash);
  }

  async #start(template: PodTemplate, hash: string): Promise<void> {
    try {
      const running: RunningPod = { pod: await this.#ports.start(template), hash, isReady: false };
      this.#pods.add(running);
      void running.pod.ended.then(() => this.#ended(running));
      const [container] = template.spec.containers;
      // Without a probe a pod counts as ready as soon as its process runs.
      if (container?.readinessProbe === undefined) running.isReady = true;
      else void this.#probe(running);
    } catch {
      // It waits for its image, its secrets or its account, as pods do.
      this.#wake(retryMs);
    }
  }

  async #probe(running: RunningPod): Promise<void> {
    while (this.#pods.has(running)) {
      if (await accepts(running.pod.address, grpcPort)) {
        running.isReady = true;
        this.#restarts = 0;
        this.#wake();
        return;
      }
      await delay(retryMs / 4);
    }
  }

  #ended(running: RunningPod): void {
    if (!this.#pods.delete(running)) return;
    this.#wake(Math.min(retryMs * 2 ** this.#restarts++, longestRestartMs));
  }

  /** They take no more calls from the moment they are asked to end. */
  async #stopAllBut(hash: string | undefined): Promise<void> {
    const ending = [...this.#pods].filter((one) => one.hash !== hash);
    for (const one of ending) this.#pods.delete(one);
    await Promise.all(ending.map(({ pod }) => pod.stop()));
  }

  async #writeStatus(deployment: KubeObject, { wanted, hash }: { wanted: number; hash: string }): Promise<void> {
    const pods = [...this.#pods];
    const updated = pods.filter((one) => one.hash === hash);
    const counts: PodCounts = {
      wanted,
      all: pods.length,
      updated: updated.length,
      ready: pods.filter(({ isReady }) => isReady).length,
      updatedReady: updated.filter(({ isReady }) => isReady).length,
    };
    const status = deploymentStatus(deployment.metadata.generation ?? 0, counts);
    await this.#ports.writeStatus(deployment, status);
  }
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (isOpen: boolean) => () => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", settle(true)).once("error", settle(false));
  });
}
