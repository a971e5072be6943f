// SPDX-License-Identifier: Apache-2.0
// kill -9 of `purlin start` on a real API server, at each decision of a rollout in every phase and at each kind of write, before or after
// the server has taken it; another process continues.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type FatalProxy, startFatalProxy } from "../harness/fatal-proxy.ts";
import type { ProcessParts } from "../harness/packages/package-plane.ts";
import { type PurlinProcess, startPurlinIn } from "../harness/purlin-process.ts";
import { startBucketScene } from "./bucket-scene.ts";
import { DeathList } from "./death-list.ts";
import { type MortalPlane, testStories } from "./killed-stories.ts";

const isRoot = process.getuid?.() === 0;
const unshare = ["unshare", ...(isRoot ? [] : ["--user", "--map-root-user"]), "--mount"];

/** A command sees this file as /etc/hosts: there is no DNS server that knows the Services of the cluster. */
const withHosts = (file: string): readonly string[] => [
  ...unshare,
  "sh",
  "-c",
  'mount --bind "$0" /etc/hosts && exec "$@"',
  file,
];

const flags = [
  "--enable-function-rollouts",
  "--leader-election=false",
  "--circuit-breaker-burst=100000",
  "--circuit-breaker-refill-rate=1000",
  ...["--metrics-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0"],
];

/** The kinds of writes at which the process dies before and after, whatever the rollouts do. */
const fatalKinds: readonly string[] = [
  ...["POST events", "PATCH configmaps", "PATCH buckets/status", "PUT buckets"],
  ...["PATCH deployments", "PATCH services", "PATCH serviceaccounts", "PATCH secrets"],
  ...["PATCH functionrevisions", "PUT functionrevisions", "PUT functionrevisions/status", "PUT functions/status"],
  ...["PUT locks", "PUT locks/status", "POST compositionrevisions", "PUT compositionrevisions/status"],
];

/** Starts `purlin start` behind a proxy that kills it. */
async function startMortal(): Promise<MortalPlane> {
  await using starting = new AsyncDisposableStack();
  const deaths = new DeathList({ scope: "kinds" });
  let running: PurlinProcess | undefined;
  let proxy: FatalProxy | undefined;
  let restarted: Promise<void> = Promise.resolve();
  const kill = (): void => {
    const dying = running;
    if (dying === undefined || deaths.hasEnded) return;
    running = undefined;
    process.kill(dying.pid, "SIGKILL");
    restarted = restarted.then(() => scene.restart(true));
  };
  const startProcess = async ({ kubeconfig, directory, machine }: ProcessParts): Promise<AsyncDisposable> => {
    proxy ??= starting.use(
      await startFatalProxy(kubeconfig, (write) => {
        if (running === undefined) return "lost";
        const death = deaths.next(write);
        return death && { moment: death.moment, strike: kill, spare: () => deaths.undo(death) };
      }),
    );
    const hosts = join(directory, "hosts");
    const own = readFileSync("/etc/hosts", "utf8");
    const writeHosts = (): void => writeFileSync(hosts, `${own}\n${machine.hosts()}`);
    writeHosts();
    const writing = setInterval(writeHosts, 50);
    const cache = ["--xpkg-cache-dir", join(directory, "packages")];
    const command = ["start", "--kubeconfig", proxy.kubeconfig, ...flags, ...cache];
    const started = startPurlinIn(process.env, command, withHosts(hosts));
    running = started;
    await started.says("all controllers run").catch((error: unknown) => {
      // It was killed before it was up.
      if (running === started) throw error;
    });
    return {
      async [Symbol.asyncDispose]() {
        clearInterval(writing);
        await started.kill();
      },
    };
  };
  const scene = starting.use(
    await startBucketScene({ functionRevisionSelectors: true, functionRollouts: true, startProcess }),
  );
  const closing = starting.move();
  return {
    scene,
    deaths,
    alive: () => restarted,
    async [Symbol.asyncDispose]() {
      await closing.disposeAsync();
    },
  };
}

if (process.env["E2E_SERVER"] === "real") testStories(startMortal, fatalKinds);
else test("kill -9 of `purlin start`", { skip: "it needs a real API server" }, () => {});
