// SPDX-License-Identifier: Apache-2.0
import type { NameResolver } from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import type { Pod } from "./pod.ts";

const serviceType = { apiVersion: "v1", kind: "Service" };

/** Answers `<service>.<namespace>` with the addresses of the ready pods that a headless Service selects. */
export function createServiceNames(client: KubeClient, namespace: string, ready: () => readonly Pod[]): NameResolver {
  return {
    async resolve(host) {
      const name = serviceOf(host, namespace);
      const service = await client.get(serviceType, { namespace, name });
      const { selector, clusterIP } = service["spec"] as { selector?: Record<string, string>; clusterIP?: string };
      if (clusterIP !== "None") throw new Error(`${host} is not headless: its clusterIP is ${clusterIP}`);
      const wanted = Object.entries(selector ?? {});
      if (wanted.length === 0) return [];
      const selected = ready().filter(({ template: { metadata } }) =>
        wanted.every(([key, value]) => metadata.labels[key] === value),
      );
      return selected.map(({ address }) => address);
    },
  };
}

function serviceOf(host: string, namespace: string): string {
  const forms = [`.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`];
  const suffix = forms.find((form) => host.endsWith(form));
  if (suffix === undefined) throw new Error(`${host} is not the name of a Service in ${namespace}`);
  return host.slice(0, -suffix.length);
}
