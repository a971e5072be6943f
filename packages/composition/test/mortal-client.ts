// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { intercepted } from "./failing-client.ts";

class Crash extends Error {}

/** The client of a control plane that dies before, or right after, its write number `at`. */
export function mortalClient(
  client: ControllerClient,
  at: number,
  when: "before" | "after",
): { readonly client: ControllerClient; readonly writes: () => number } {
  let writes = 0;
  let dead = false;
  const alive = (): void => {
    if (dead) throw new Crash("dead");
  };
  const live = intercepted(client, alive);
  const strike = async <T>(write: () => Promise<T>): Promise<T> => {
    alive();
    if (writes++ === at && when === "before") {
      dead = true;
      throw new Crash("dead");
    }
    const result = await write();
    if (writes - 1 === at && when === "after") {
      dead = true;
      throw new Crash("dead");
    }
    return result;
  };
  return {
    writes: () => writes,
    client: {
      ...live,
      create: (...args: Parameters<typeof live.create>) => strike(() => live.create(...args)),
      update: (...args: Parameters<typeof live.update>) => strike(() => live.update(...args)),
      patch: (...args: Parameters<typeof live.patch>) => strike(() => live.patch(...args)),
      delete: (...args: Parameters<typeof live.delete>) => strike(() => live.delete(...args)),
      apply: (...args: Parameters<typeof live.apply>) => strike(() => live.apply(...args)),
      applyIfChanged: (...args: Parameters<typeof live.applyIfChanged>) => strike(() => live.applyIfChanged(...args)),
    },
  };
}
