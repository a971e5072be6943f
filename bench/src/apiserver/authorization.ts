// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { issueUserKubeconfig } from "@purlin/kube-apiserver";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { type Access, readAccess } from "./access.ts";
import { startSide } from "./both.ts";
import { startEmbedded } from "./contenders.ts";
import type { CreateEffort } from "./creates.ts";
import { Http2Client } from "./http2-client.ts";
import { type Load, startLoader } from "./load.ts";

const clients = 16;
const user = "bench-user";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";

/** Creates a second of an administrator, for whom no role is evaluated, and of a user with a role, without and with an admission policy. */
export async function authorizationFigures({ rounds, count, warmUp }: CreateEffort): Promise<Figure[]> {
  await using plain = await startSide(startEmbedded);
  await using withPolicy = await startSide(startEmbedded);
  const [member, checked] = await Promise.all([
    grantRole(plain.contender.access, plain.contender.directory),
    grantRole(withPolicy.contender.access, withPolicy.contender.directory),
  ]);
  await addPolicy(withPolicy.contender.access);
  await using memberLoad = startLoader(member);
  await using checkedLoad = startLoader(checked);
  const loads: Readonly<Record<string, Load>> = { admin: plain.load, member: memberLoad, checked: checkedLoad };
  const rates: Record<string, number[]> = { admin: [], member: [], checked: [] };
  for (let round = -1; round < rounds; round++) {
    for (const [name, load] of Object.entries(loads)) {
      const wanted = round === -1 ? warmUp : count;
      const job = { job: "create", kind: "ConfigMap", prefix: `${name}${round + 1}`, count: wanted, clients } as const;
      const [seconds = 0] = await load.do(job);
      if (round >= 0) rates[name]?.push(wanted / seconds);
    }
  }
  const { admin = [], member: withRole = [], checked: withBoth = [] } = rates;
  const target = { relation: "at least", value: 0.95 } as const;
  return [
    figure("creates: an administrator", "/s", admin),
    figure("creates: a user with a role ÷ an administrator", "×", ratios(withRole, admin), target),
    figure(
      "creates: a user with a role, and a ValidatingAdmissionPolicy ÷ an administrator",
      "×",
      ratios(withBoth, admin),
    ),
  ];
}

/** Access for a user with the ClusterRole `edit` in the namespace. */
async function grantRole(access: Access, directory = ""): Promise<Access> {
  await post(access, `${rbac}/namespaces/default/rolebindings`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: user },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  });
  const file = join(directory, "bench-user.kubeconfig");
  writeFileSync(file, issueUserKubeconfig(directory, { name: user, groups: [], namespace: "default", days: 1 }));
  return { ...readAccess(file), server: access.server };
}

async function addPolicy(access: Access): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  await post(access, `${admission}/validatingadmissionpolicies`, {
    apiVersion,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "bench" },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
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
