// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { issueUserKubeconfig } from "@purlin/kube-apiserver";
import { type Figure, figure, ratiosOfSums } from "../measure/figure.ts";
import { type Access, readAccess } from "./access.ts";
import { startSide } from "./both.ts";
import { startEmbedded } from "./contenders.ts";
import type { CreateEffort } from "./creates.ts";
import { Http2Client } from "./http2-client.ts";
import { type Load, startLoader } from "./load.ts";
import { Rounds } from "./rounds.ts";

const clients = 16;
const user = "bench-user";
/** Where the policy applies. */
const checkedNamespace = "checked";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";

/** Creates of an administrator, for whom no role is evaluated, and of a user with a role, without and with an admission policy. */
export async function authorizationFigures(effort: CreateEffort): Promise<Figure[]> {
  await using side = await startSide(startEmbedded);
  const { access, directory, pids } = side.contender;
  await post(access, "/api/v1/namespaces", { metadata: { name: checkedNamespace } });
  const member = await grantRole(access, directory);
  await addPolicy(access);
  await using memberLoad = startLoader(member);
  const subject = (name: string, load: Load, namespace: string) => ({
    name,
    pids,
    run: (prefix: string, count: number) =>
      load.do({ job: "create", kind: "ConfigMap", prefix, count, clients, namespace }),
  });
  const rounds = new Rounds([
    subject("admin", side.load, "default"),
    subject("member", memberLoad, "default"),
    subject("checked", memberLoad, checkedNamespace),
  ]);
  await rounds.measure(effort);
  const target = { relation: "at least", value: 0.95 } as const;
  const compared = (name: string): Figure[] => {
    const what = name === "member" ? "a user with a role" : "a user with a role, and a ValidatingAdmissionPolicy";
    const by = (of: "cost" | "seconds"): number[] => ratiosOfSums(rounds.of(of, "admin"), rounds.of(of, name));
    return [
      figure(`creates: ${what} ÷ an administrator, by processor time`, "×", by("cost"), target),
      figure(`creates: ${what} ÷ an administrator, by time`, "×", by("seconds")),
    ];
  };
  return [
    figure("creates: an administrator, processor time", "µs", rounds.of("cost", "admin")),
    ...compared("member"),
    ...compared("checked"),
  ];
}

/** Access for a user with the ClusterRole `edit` in both namespaces. */
async function grantRole(access: Access, directory = ""): Promise<Access> {
  for (const namespace of ["default", checkedNamespace]) {
    await post(access, `${rbac}/namespaces/${namespace}/rolebindings`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: user },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    });
  }
  const file = join(directory, "bench-user.kubeconfig");
  writeFileSync(file, issueUserKubeconfig(directory, { name: user, groups: [], namespace: "default", days: 1 }));
  return { ...readAccess(file), server: access.server };
}

async function addPolicy(access: Access): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": checkedNamespace } };
  await post(access, `${admission}/validatingadmissionpolicies`, {
    apiVersion,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "bench" },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { namespaceSelector, resourceRules: [rule] },
      validations: [{ expression: "object.data.all(key, size(object.data[key]) < 10000)" }],
    },
  });
  await post(access, `${admission}/validatingadmissionpolicybindings`, {
    apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "bench" },
    spec: { policyName: "bench", validationActions: ["Deny"] },
  });
}

async function post(access: Access, path: string, object: object): Promise<void> {
  const client = new Http2Client(access);
  try {
    const { code } = await client.request("POST", path, Buffer.from(JSON.stringify(object)));
    if (code !== 201) throw new Error(`POST ${path}: ${code}`);
  } finally {
    client.close();
  }
}
