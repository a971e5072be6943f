// SPDX-License-Identifier: Apache-2.0
import type { KubeClient } from "@purlin/kube-client";

/** A client whose lists and watches see one namespace: caches over it hold, and may see, nothing of others. */
export function inNamespace(client: KubeClient, namespace: string): KubeClient {
  return {
    ...client,
    list: (type, options) => client.list(type, { ...options, namespace }),
    watch: (type, options) => client.watch(type, { ...options, namespace }),
  };
}
