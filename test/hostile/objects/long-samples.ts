// SPDX-License-Identifier: Apache-2.0
// Valid objects with one list or map made as long as a request allows, each item like a valid one: their rules run to the end.
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { gvkOf } from "@purlin/kube-objects/object";
import { sampleObjects } from "../../conformance/random-kinds/samples.ts";

/** A valid object, but for the length of one list or map. */
export interface LongSample {
  /** The kind and the field, such as `Pod spec.containers[].env`. */
  readonly what: string;
  readonly field: string;
  readonly object: JsonObject;
  /** The same with a short list or map. */
  readonly small: JsonObject;
}

/** What the samples of the conformance suite have nothing of. */
const more: readonly JsonObject[] = [
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "s",
      labels: { "example.org/a": "b" },
      annotations: { "example.org/a": "b" },
      finalizers: ["example.org/a"],
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }],
    },
    spec: {
      containers: [
        {
          name: "c",
          image: "i",
          args: ["a"],
          env: [{ name: "A", value: "b" }],
          envFrom: [{ prefix: "A", configMapRef: { name: "c" } }],
          ports: [{ name: "p", containerPort: 1, hostPort: 1 }],
          resources: { limits: { "example.org/d": "1" }, requests: { "example.org/d": "1" } },
          volumeMounts: [{ name: "v", mountPath: "/v" }],
          volumeDevices: [{ name: "d", devicePath: "/d" }],
          resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
          readinessProbe: { httpGet: { path: "/", port: 1, httpHeaders: [{ name: "A", value: "b" }] } },
          securityContext: { capabilities: { add: ["A"], drop: ["B"] } },
        },
      ],
      initContainers: [{ name: "i", image: "i" }],
      volumes: [
        { name: "v", emptyDir: {} },
        { name: "d", persistentVolumeClaim: { claimName: "p" } },
        { name: "s", secret: { secretName: "s", items: [{ key: "k", path: "p" }] } },
        {
          name: "w",
          projected: {
            sources: [
              { configMap: { name: "c", items: [{ key: "k", path: "p" }] } },
              { downwardAPI: { items: [{ path: "d", fieldRef: { fieldPath: "metadata.name" } }] } },
            ],
          },
        },
      ],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchExpressions: [{ key: "example.org/a", operator: "In", values: ["b"] }],
                matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }],
              },
            ],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [{ key: "a", operator: "Exists" }] } },
          ],
        },
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: "example.org/t",
              namespaces: ["n"],
              labelSelector: {
                matchLabels: { "example.org/a": "b" },
                matchExpressions: [{ key: "example.org/a", operator: "In", values: ["b"] }],
              },
              matchLabelKeys: ["example.org/k"],
            },
          ],
        },
      },
      tolerations: [{ key: "example.org/a", operator: "Equal", value: "b", effect: "NoSchedule" }],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "example.org/t",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { "example.org/a": "b" } },
          matchLabelKeys: ["example.org/k"],
        },
      ],
      nodeSelector: { "example.org/a": "b" },
      hostAliases: [{ ip: "10.0.0.1", hostnames: ["a.example.org"] }],
      imagePullSecrets: [{ name: "s" }],
      readinessGates: [{ conditionType: "example.org/r" }],
      schedulingGates: [{ name: "example.org/g" }],
      dnsConfig: { nameservers: ["10.0.0.1"], searches: ["a.example.org"], options: [{ name: "a", value: "b" }] },
      securityContext: { supplementalGroups: [1], sysctls: [{ name: "kernel.a", value: "b" }] },
      overhead: { cpu: "1" },
      resourceClaims: [{ name: "r", resourceClaimName: "r" }],
    },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "s" },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ["a"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["r"], resourceNames: ["n"] },
        ],
        excludeResourceRules: [{ apiGroups: ["b"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["r"] }],
        objectSelector: { matchLabels: { "example.org/a": "b" } },
      },
      variables: [{ name: "v", expression: "1" }],
      validations: [{ expression: "object.a == 1", message: "m", reason: "Invalid" }],
      matchConditions: [{ name: "m", expression: "true" }],
      auditAnnotations: [{ key: "k", valueExpression: "'a'" }],
    },
  },
  {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "samples.hostile.example.org" },
    spec: {
      group: "hostile.example.org",
      names: { kind: "Sample", plural: "samples", shortNames: ["s"], categories: ["c"] },
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec.a" }],
          selectableFields: [{ jsonPath: ".spec.a" }],
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: {
                  type: "object",
                  properties: { a: { type: "string", default: "x", enum: ["x"], maxLength: 3 } },
                  required: ["a"],
                  "x-kubernetes-validations": [{ rule: "self.a == 'x'", message: "m", fieldPath: ".a" }],
                  anyOf: [{ required: ["a"] }],
                },
              },
            },
          },
        },
      ],
    },
  },
];

const mostValues = 94_000;
const mostBytes = 2_700_000;

/** Every list and map in the samples, once for each kind. */
export function longSamples(): LongSample[] {
  const found = new Map<string, LongSample>();
  for (const object of [...(sampleObjects() as JsonObject[]), ...more]) {
    const { group, kind } = gvkOf(object as JsonObject & { apiVersion: string; kind: string });
    const name = kind === "CustomResourceDefinition" ? {} : { name: "long" };
    const named = { ...object, metadata: { ...objectOf(object["metadata"]), ...name } };
    for (const { field, value } of longer(named, "")) {
      const what = `${group} ${kind} ${field}`.trim();
      if (!found.has(what)) found.set(what, { what, field, object: value as JsonObject, small: named });
    }
  }
  return [...found.values()];
}

/** The value with each of its lists and maps made long, one at a time. */
function* longer(value: JsonValue, at: string): Generator<{ readonly field: string; readonly value: JsonValue }> {
  if (isJsonArray(value)) {
    const [first] = value;
    if (first === undefined) return;
    const count = countOf(first);
    yield { field: at, value: [...value, ...Array.from({ length: count }, (_, index) => numbered(first, index, ""))] };
    for (const one of longer(first, `${at}[]`)) yield { ...one, value: [one.value, ...value.slice(1)] };
  } else if (isJsonObject(value)) {
    const entries = Object.entries(value);
    const [entry] = entries;
    if (entry !== undefined && isMap(at)) {
      const [key, member] = entry;
      const many = Array.from({ length: countOf(member) }, (_, index) => [
        `${key}${index}`,
        numbered(member, index, "value"),
      ]);
      yield { field: at, value: { ...value, ...Object.fromEntries(many) } };
    }
    for (const [key, member] of entries) {
      for (const one of longer(member, at === "" ? key : `${at}.${key}`)) {
        yield { ...one, value: { ...value, [key]: one.value } };
      }
    }
  }
}

const isMap = (at: string): boolean =>
  /(labels|annotations|matchLabels|nodeSelector|limits|requests|capacity|allocatable|hard|\bdata|stringData|binaryData|parameters|overhead|properties|max|min|default|defaultRequest|options|volumeAttributes|attributes|podFixed|driver)$/i.test(
    at,
  );

function countOf(item: JsonValue): number {
  const text = JSON.stringify(item);
  const values = 1 + (text.match(/[,:[{]/g)?.length ?? 0);
  return Math.floor(Math.min(mostValues / values, mostBytes / (text.length + 12)));
}

/** An item like this one with other names, numbers and addresses. */
function numbered(value: JsonValue, index: number, key: string): JsonValue {
  if (isJsonArray(value)) return value.map((item) => numbered(item, index, key));
  if (isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, numbered(member, index, name)]));
  }
  if (typeof value === "number") return /port/i.test(key) ? (index % 65_535) + 1 : value;
  if (typeof value !== "string") return value;
  if (/^\d+\.\d+\.\d+\.\d+(\/\d+)?$/.test(value)) return `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  return isName(key) ? `${value}${index}` : value;
}

const isName = (key: string): boolean =>
  /^(name|key|path|mountPath|devicePath|host|hostname|prefix|uid|topologyKey|conditionType|jsonPath|namespace|url|)$/.test(
    key,
  );

const objectOf = (value: JsonValue | undefined): JsonObject =>
  isJsonObject(value ?? null) ? (value as JsonObject) : {};
