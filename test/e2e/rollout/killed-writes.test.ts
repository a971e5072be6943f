// SPDX-License-Identifier: Apache-2.0
// The whole control plane dies at each write of a rollout in every phase, before and after the server has taken it, with and without its
// functions, and another one continues. Writes of composite resources, of packages and of events are among them.
import { systemClock } from "@purlin/base";
import type { KubeTransport } from "@purlin/kube-client";
import { forbidden } from "@purlin/kube-objects/errors";
import { functionsBelow } from "../harness/up-machine.ts";
import { startBucketScene } from "./bucket-scene.ts";
import { DeathList } from "./death-list.ts";
import { type MortalPlane, testStories } from "./killed-stories.ts";

const hour = 60 * 60_000;

/** Nothing is tried again after this answer: a process that is dead must not take long to end. */
const refused = (): Error => forbidden({ group: "", resource: "anything" }, "", "this process is dead");

/** Starts a control plane in this process, which sends nothing after its death and is then started again. */
async function startMortal(): Promise<MortalPlane> {
  const deaths = new DeathList({ scope: "writes" });
  let restarted: Promise<void> = Promise.resolve();
  /** What the clock of the control plane is ahead of that of the machine. */
  let ahead = 0;
  const clock = { now: () => Date.now() + ahead, schedule: systemClock.schedule };
  const opens = new Date(clock.now() + 2 * hour).getUTCHours();
  const mortal = (transport: KubeTransport): KubeTransport => {
    let isDead = false;
    return {
      ...transport,
      async request(request) {
        if (isDead && request.method !== "GET") throw refused();
        const death = deaths.next(request);
        if (death === undefined) return transport.request(request);
        if (death.moment === "after") {
          try {
            await transport.request(request);
          } catch (error) {
            deaths.undo(death);
            throw error;
          }
        }
        if (isDead || deaths.hasEnded) throw refused();
        isDead = true;
        // Functions die with it, or live on.
        const isAlone = !death.isRollout || death.moment === "after";
        if (!isAlone) for (const { pid } of functionsBelow(process.pid)) process.kill(pid, "SIGKILL");
        // It may die again before it is up.
        restarted = restarted.then(() => scene.restart(true, { functionsLiveOn: isAlone }));
        throw refused();
      },
    };
  };
  // A process that is killed finishes nothing.
  const settings = { stopGraceMs: 0 };
  const flags = { functionRevisionSelectors: true, functionRollouts: true };
  const scene = await startBucketScene({ ...flags, settings, transport: mortal, clock });
  return {
    scene,
    deaths,
    alive: () => restarted,
    window: { schedule: `0 ${opens} * * *`, timeZone: "UTC", duration: "30m" },
    setClock() {
      if (ahead > 0) return;
      const later = new Date(clock.now());
      later.setUTCHours(opens, 0, 30, 0);
      const wait = later.getTime() - Date.now();
      ahead = wait > 0 ? wait : wait + 24 * hour;
    },
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

testStories(startMortal, [
  ...["POST events", "PATCH configmaps", "PATCH buckets/status", "PUT buckets"],
  ...["PATCH functionrevisions", "PUT functionrevisions", "PUT functionrevisions/status", "PUT functions/status"],
  ...["PUT locks", "PUT locks/status", "POST compositionrevisions", "PUT compositionrevisions/status"],
]);
