// SPDX-License-Identifier: Apache-2.0

import { isIP } from "node:net";
import { defineKinds, type KindDefinition, statusSubresource } from "@purlin/kube-apiserver/kinds";
import type { NameRule } from "@purlin/kube-objects/metadata";
import { addressRules, ingressClassRules, serviceRangeRules } from "./class-rules.ts";
import { ingressRules } from "./ingress-rules.ts";
import { networkPolicyRules } from "./network-policy-rules.ts";

const addressName: NameRule = (name) =>
  isIP(name) === 0 ? ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"] : [];

/** The kinds of networking.k8s.io. */
export const networkingKinds: readonly KindDefinition[] = defineKinds(
  { group: "networking.k8s.io", version: "v1", priority: 17_200 },
  [
    {
      resource: "ingressclasses",
      kind: "IngressClass",
      cluster: true,
      write: { generation: "spec" },
      rules: ingressClassRules,
    },
    {
      resource: "ingresses",
      kind: "Ingress",
      short: ["ing"],
      subresources: [statusSubresource],
      write: { generation: "spec" },
      rules: ingressRules,
    },
    {
      resource: "ipaddresses",
      kind: "IPAddress",
      short: ["ip"],
      cluster: true,
      write: { name: addressName },
      rules: addressRules,
    },
    {
      resource: "networkpolicies",
      kind: "NetworkPolicy",
      short: ["netpol"],
      write: { generation: "spec" },
      rules: networkPolicyRules,
    },
    {
      resource: "servicecidrs",
      kind: "ServiceCIDR",
      cluster: true,
      subresources: [statusSubresource],
      rules: serviceRangeRules,
    },
  ],
);
