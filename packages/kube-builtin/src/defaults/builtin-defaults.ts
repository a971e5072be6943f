// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { clusterDefaults } from "./cluster-defaults.ts";
import { all, type Edit, each, fill, inside, podSpecDefaults, podTemplateDefaults, when } from "./pod-defaults.ts";

const template: Edit = inside("template", podTemplateDefaults);
const rollingUpdate = (defaults: JsonObject): Edit =>
  when(
    (strategy) => strategy["type"] === "RollingUpdate",
    all(fill({ rollingUpdate: {} }), inside("rollingUpdate", fill(defaults))),
  );

const deployment: Edit = inside(
  "spec",
  all(
    fill({ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} }),
    inside("strategy", all(fill({ type: "RollingUpdate" }), rollingUpdate({ maxUnavailable: "25%", maxSurge: "25%" }))),
    template,
  ),
);

const claim: Edit = all(
  inside("spec", fill({ volumeMode: "Filesystem" })),
  fill({ status: {} }),
  inside("status", fill({ phase: "Pending" })),
  (one) => ({ ...one, apiVersion: "v1", kind: "PersistentVolumeClaim" }),
);

const statefulSet: Edit = inside(
  "spec",
  all(
    fill({ replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: "OrderedReady", updateStrategy: {} }),
    fill({ persistentVolumeClaimRetentionPolicy: {} }),
    inside("persistentVolumeClaimRetentionPolicy", fill({ whenDeleted: "Retain", whenScaled: "Retain" })),
    inside(
      "updateStrategy",
      all(
        when(({ type }) => type === undefined, fill({ type: "RollingUpdate", rollingUpdate: {} })),
        when(({ type }) => type === "RollingUpdate", inside("rollingUpdate", fill({ partition: 0 }))),
      ),
    ),
    template,
    each("volumeClaimTemplates", claim),
  ),
);

const daemonSet: Edit = inside(
  "spec",
  all(
    fill({ revisionHistoryLimit: 10, updateStrategy: {} }),
    inside(
      "updateStrategy",
      all(
        fill({ type: "RollingUpdate" }),
        rollingUpdate({ maxUnavailable: 1, maxSurge: 0 }),
        // The members of another strategy have values without a meaning.
        inside("rollingUpdate", fill({ maxUnavailable: 0, maxSurge: 0 })),
      ),
    ),
    template,
  ),
);

/** A Job without a goal is done when one Pod succeeds. */
const completions: Edit = (spec) => {
  const open = spec["completions"] === undefined && spec["parallelism"] === undefined;
  const filled = open ? { ...spec, completions: 1, parallelism: 1 } : spec;
  return fill({ parallelism: 1 })(filled);
};

/** A condition of a failed Pod is compared with True unless another status is given. */
const failurePolicy: Edit = inside(
  "podFailurePolicy",
  each(
    "rules",
    each(
      "onPodConditions",
      when(
        ({ status }) => !status,
        (one) => ({ ...one, status: "True" }),
      ),
    ),
  ),
);

const job: Edit = inside(
  "spec",
  all(
    completions,
    fill({
      completionMode: "NonIndexed",
      suspend: false,
      manualSelector: false,
    }),
    (spec) =>
      fill({ podReplacementPolicy: spec["podFailurePolicy"] === undefined ? "TerminatingOrFailed" : "Failed" })(spec),
    (spec) => fill({ backoffLimit: spec["backoffLimitPerIndex"] === undefined ? 6 : 2147483647 })(spec),
    failurePolicy,
    template,
  ),
);

const cronJob: Edit = inside(
  "spec",
  all(
    fill({ concurrencyPolicy: "Allow", suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 }),
    inside("jobTemplate", inside("spec", all(failurePolicy, template))),
  ),
);

const servicePort: Edit = all(fill({ protocol: "TCP" }), (port) => {
  const target = port["targetPort"];
  return target === undefined || target === 0 || target === "" ? { ...port, targetPort: port["port"] ?? 0 } : port;
});

const isReachable = ({ type, externalIPs }: JsonObject): boolean =>
  type === "NodePort" ||
  type === "LoadBalancer" ||
  (type === "ClusterIP" && Array.isArray(externalIPs) && externalIPs.length > 0);

/** The address of a load balancer is a virtual one unless its controller says otherwise. */
const balancerAddress: Edit = when(({ ip }) => typeof ip === "string" && ip !== "", fill({ ipMode: "VIP" }));
const isBalancer = ({ spec }: JsonObject): boolean => isJsonObject(spec) && spec["type"] === "LoadBalancer";

const serviceSpec: Edit = inside(
  "spec",
  all(
    fill({ sessionAffinity: "None", type: "ClusterIP" }),
    when((spec) => spec["type"] !== "ExternalName", fill({ internalTrafficPolicy: "Cluster" })),
    when(isReachable, fill({ externalTrafficPolicy: "Cluster" })),
    when((spec) => spec["type"] === "LoadBalancer", fill({ allocateLoadBalancerNodePorts: true })),
    when(
      (spec) => spec["sessionAffinity"] === "ClientIP",
      all(
        fill({ sessionAffinityConfig: {} }),
        inside(
          "sessionAffinityConfig",
          all(fill({ clientIP: {} }), inside("clientIP", fill({ timeoutSeconds: 10800 }))),
        ),
      ),
    ),
    when(
      (spec) => spec["sessionAffinity"] === "None" && spec["sessionAffinityConfig"] !== undefined,
      ({ sessionAffinityConfig: _unused, ...spec }) => spec,
    ),
    each("ports", servicePort),
  ),
);

const service: Edit = all(
  serviceSpec,
  when(isBalancer, inside("status", inside("loadBalancer", each("ingress", balancerAddress)))),
);

function webhooks(more: JsonObject): Edit {
  return each(
    "webhooks",
    all(
      fill({
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
        ...more,
      }),
      inside("clientConfig", inside("service", fill({ port: 443 }))),
      each("rules", fill({ scope: "*" })),
    ),
  );
}

/** Texts of a Secret for writing are its data, encoded. */
const secret: Edit = (object) => {
  const { stringData, ...rest } = object as { readonly stringData?: Record<string, string> } & JsonObject;
  const typed = fill({ type: "Opaque" })(rest as JsonObject);
  if (stringData === undefined || stringData === null) return typed;
  const encoded = Object.entries(stringData).map(([key, text]): [string, JsonValue] => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  return { ...typed, data: { ...(typed["data"] as JsonObject | undefined), ...Object.fromEntries(encoded) } };
};

const defaults: Readonly<Record<string, Edit>> = {
  ...clusterDefaults,
  "v1/Secret": secret,
  "v1/Service": service,
  "v1/Pod": inside("spec", podSpecDefaults({ isPod: true })),
  "v1/Endpoints": each("subsets", each("ports", fill({ protocol: "TCP" }))),
  "apps/v1/Deployment": deployment,
  "apps/v1/StatefulSet": statefulSet,
  "apps/v1/DaemonSet": daemonSet,
  "apps/v1/ReplicaSet": inside("spec", all(fill({ replicas: 1 }), template)),
  "batch/v1/Job": job,
  "batch/v1/CronJob": cronJob,
  "discovery.k8s.io/v1/EndpointSlice": each("ports", fill({ name: "", protocol: "TCP" })),
  "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration": webhooks({}),
  "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration": webhooks({ reinvocationPolicy: "Never" }),
};

/** What fills in the defaults of a built-in kind; undefined when it has none. */
export function builtinDefaults(apiVersion: string, kind: string): Edit | undefined {
  const key = `${apiVersion}/${kind}`;
  return Object.hasOwn(defaults, key) ? defaults[key] : undefined;
}
