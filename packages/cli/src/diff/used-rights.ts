// SPDX-License-Identifier: Apache-2.0
import { functionClientSecret } from "@purlin/control-plane";
import { type KubeRequest, type KubeTransport, type PortForwardTarget, portForwardPath } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";

/** The rights that requests need, collected while they are sent. */
export class UsedRights {
  /** Verbs by API group and resource. */
  readonly #verbs = new Map<string, Set<string>>();
  #needsCertificate = false;

  /** A transport that notes what each request needs. */
  collecting(transport: KubeTransport): KubeTransport {
    return {
      request: (request) => {
        this.#note(request);
        return transport.request(request);
      },
      stream: (request) => transport.stream(request),
      close: () => transport.close(),
    };
  }

  /** Notes a port-forward to a function, which asks for the certificate. API servers ask for `get`, and those since 1.35 for `create` too. */
  forwards(target: Pick<PortForwardTarget, "namespace" | "pod">): void {
    const path = portForwardPath(target);
    for (const method of ["GET", "POST"] as const) this.#note({ method, path });
    this.#needsCertificate = true;
  }

  /** A ClusterRole with these rights. */
  clusterRole(name: string): JsonObject {
    const byVerbs = Map.groupBy(
      [...this.#verbs].sort(([a], [b]) => (a < b ? -1 : 1)),
      ([id, verbs]) => `${id.split("/", 1)[0]} ${[...verbs].sort().join(",")}`,
    );
    const rules = [...byVerbs.values()].map((entries) => {
      const [[first = "", verbs = new Set<string>()] = []] = entries;
      return {
        apiGroups: [first.slice(0, first.indexOf("/"))],
        resources: entries.map(([id]) => id.slice(id.indexOf("/") + 1)),
        verbs: [...verbs].sort(),
      };
    });
    const secret = { apiGroups: [""], resources: ["secrets"], resourceNames: [functionClientSecret], verbs: ["get"] };
    if (this.#needsCertificate) rules.push(secret);
    return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules };
  }

  #note({ method, path }: Pick<KubeRequest, "method" | "path">): void {
    // Users that may read this certificate use it, and without a port-forward nothing fails without it.
    if (path.endsWith(`/secrets/${functionClientSecret}`)) return;
    // Namespaces have subresources themselves, in the place where others have the resource.
    const found =
      /^\/api\/v1\/(?<resource>namespaces)\/(?<name>[^/]+)\/(?<sub>status|finalize)$/.exec(path)?.groups ??
      /^\/(?:api|apis\/(?<group>[^/]+))\/[^/]+\/(?:namespaces\/[^/]+\/(?=[^/]+(?:\/|$)))?(?<resource>[a-z][-a-z0-9]*)(?:\/(?<name>[^/]+))?(?:\/(?<sub>[a-z]+))?$/.exec(
        path,
      )?.groups;
    if (found === undefined) return;
    const { group = "", resource = "", name, sub } = found;
    const verb = verbOf(method, name !== undefined);
    const id = `${group}/${resource}${sub === undefined ? "" : `/${sub}`}`;
    this.#verbs.set(id, (this.#verbs.get(id) ?? new Set()).add(verb));
  }
}

function verbOf(method: KubeRequest["method"], isNamed: boolean): string {
  switch (method) {
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return isNamed ? "delete" : "deletecollection";
    default:
      return isNamed ? "get" : "list";
  }
}
