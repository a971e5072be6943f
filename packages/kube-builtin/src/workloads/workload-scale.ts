// SPDX-License-Identifier: Apache-2.0

import type { ScalePaths } from "@purlin/kube-apiserver/kinds";
import { numberAt, objectAt } from "@purlin/kube-objects/object";
import { formatLabelSelector, type LabelSelectorObject, labelSelectorOf } from "@purlin/kube-objects/selector";

const replicas = ["spec", "replicas"];

/** The Scale of the workloads of apps/v1. */
export const workloadScale: ScalePaths = {
  replicas,
  read: (object) => ({
    wanted: numberAt(object, replicas),
    current: numberAt(object, ["status", "replicas"]),
    selector: formatLabelSelector(labelSelectorOf(objectAt(object, ["spec", "selector"]) as LabelSelectorObject)),
  }),
  byVersion: new Map([["apps/v1", replicas]]),
};
