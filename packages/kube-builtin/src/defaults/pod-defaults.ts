// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { all, type Edit, each, fill, inside, when } from "./edit.ts";

const fieldRef: Edit = inside("fieldRef", fill({ apiVersion: "v1" }));
const items: Edit = each("items", fieldRef);

const httpGet: Edit = inside("httpGet", all(fill({ path: "/", scheme: "HTTP" })));
const probe: Edit = all(
  httpGet,
  inside("grpc", fill({ service: "" })),
  fill({ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }),
);

/** The part of an image after its registry, without the tag. */
function repositoryOf(reference: string): string {
  const [first = "", ...rest] = reference.replace(/:[^/:]+$/, "").split("/");
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost" || /[A-Z]/.test(first));
  return isRegistry ? rest.join("/") : [first, ...rest].join("/");
}

/** A tag of latest, given or implied, is pulled every time. */
const pullPolicy: Edit = (container) => {
  if (container["imagePullPolicy"] !== undefined) return container;
  const image = String(container["image"] ?? "");
  const [reference = "", digest] = image.split("@");
  const tag = /:([^/:]+)$/.exec(reference)?.[1];
  // An image that cannot be parsed has no tag at all, not even an implied one.
  const isName = /^[a-z0-9]/.test(repositoryOf(reference)) && !/[A-Z\s]/.test(repositoryOf(reference));
  const latest = digest === undefined && isName && (tag === undefined || tag === "latest");
  return { ...container, imagePullPolicy: latest ? "Always" : "IfNotPresent" };
};

/** What may be used is what is asked for, where only the limit is given. */
const requests: Edit = (resources) => {
  const limits = resources["limits"];
  if (!isJsonObject(limits)) return resources;
  const given = isJsonObject(resources["requests"]) ? resources["requests"] : {};
  return { ...resources, requests: { ...limits, ...given } };
};

const container: Edit = all(
  fill({ terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File", resources: {} }),
  pullPolicy,
  each("ports", fill({ protocol: "TCP" })),
  each("env", inside("valueFrom", all(fieldRef, inside("resourceFieldRef", fill({ divisor: "0" }))))),
  inside("livenessProbe", probe),
  inside("readinessProbe", probe),
  inside("startupProbe", probe),
  inside("lifecycle", all(inside("postStart", httpGet), inside("preStop", httpGet))),
);

const sources = new Set(["name"]);

const volume: Edit = all(
  when((one) => Object.keys(one).every((key) => sources.has(key)), fill({ emptyDir: {} })),
  inside("secret", fill({ defaultMode: 420 })),
  inside("configMap", fill({ defaultMode: 420 })),
  inside("downwardAPI", all(fill({ defaultMode: 420 }), items)),
  inside(
    "projected",
    all(
      fill({ defaultMode: 420 }),
      each(
        "sources",
        all(inside("downwardAPI", items), inside("serviceAccountToken", fill({ expirationSeconds: 3600 }))),
      ),
    ),
  ),
  inside("hostPath", fill({ type: "" })),
);

/** The two names of the service account are one field. */
const serviceAccount: Edit = (spec) => {
  const name = spec["serviceAccountName"] ?? spec["serviceAccount"];
  return name === undefined ? spec : { ...spec, serviceAccountName: name, serviceAccount: name };
};

/** Ports of a Pod on the host's network are the host's ports. */
const hostPorts: Edit = when(
  (spec) => spec["hostNetwork"] === true,
  each(
    "containers",
    each("ports", (port) =>
      port["hostPort"] === undefined ? { ...port, hostPort: port["containerPort"] ?? 0 } : port,
    ),
  ),
);

/** Defaults of a Pod's spec, wherever it stands. `isPod` for a Pod itself, whose requests are filled in too. */
export function podSpecDefaults({ isPod }: { readonly isPod: boolean }): Edit {
  const resources: Edit = isPod ? inside("resources", requests) : (one) => one;
  return all(
    fill({
      dnsPolicy: "ClusterFirst",
      restartPolicy: "Always",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      schedulerName: "default-scheduler",
    }),
    isPod ? fill({ enableServiceLinks: true }) : (spec: JsonObject) => spec,
    serviceAccount,
    hostPorts,
    each("containers", all(container, resources)),
    each("initContainers", all(container, resources)),
    each("ephemeralContainers", container),
    each("volumes", volume),
  );
}

/** Defaults of a Pod's template in a workload. */
export const podTemplateDefaults: Edit = inside("spec", podSpecDefaults({ isPod: false }));
