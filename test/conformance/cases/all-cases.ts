// SPDX-License-Identifier: Apache-2.0
import { documentedDifferences } from "../documented/all-documented.ts";
import { caseOf } from "../documented/documented-difference.ts";
import type { Case } from "../harness/case.ts";
import { admissionMetricsCases } from "./admission-metrics.ts";
import { applyCases } from "./apply.ts";
import { basicsCases } from "./basics.ts";
import { compactionCases } from "./compaction.ts";
import { containerWarningCases } from "./container-warnings.ts";
import { contentTypeCases } from "./content-types.ts";
import { conversionCases } from "./conversion.ts";
import { storedConversionCases } from "./conversion-stored.ts";
import { crdRefusalCases } from "./crd-refusals.ts";
import { crdCases } from "./crds.ts";
import { createCases } from "./create.ts";
import { customObjectCases } from "./custom-objects.ts";
import { deleteCases } from "./delete.ts";
import { discoveryCases } from "./discovery.ts";
import { fieldValidationCases } from "./field-validation.ts";
import { foundObjectCases } from "./found-objects.ts";
import { fractionCases } from "./fractions.ts";
import { garbageCases } from "./garbage.ts";
import { kindRulesCases } from "./kind-rules.ts";
import { limitCases } from "./limits.ts";
import { listCases } from "./list.ts";
import { managedFieldsCases } from "./managed-fields.ts";
import { mutatingPolicyCases } from "./mutating-policies.ts";
import { objectRulesCases } from "./object-rules.ts";
import { openApiCases } from "./openapi.ts";
import { patchCases } from "./patches.ts";
import { pathCases } from "./paths.ts";
import { podSecurityCases } from "./pod-security.ts";
import { policyCases } from "./policies.ts";
import { policyShapeCases } from "./policy-shapes.ts";
import { policyTypeCases } from "./policy-types.ts";
import { programCases } from "./programs.ts";
import { rbacCases } from "./rbac.ts";
import { readCases } from "./read.ts";
import { scaleCases } from "./scale.ts";
import { selectorCases } from "./selectors.ts";
import { severalVersionsCases } from "./several-versions.ts";
import { tableCases } from "./tables.ts";
import { timeoutCases } from "./timeouts.ts";
import { updateCases } from "./update.ts";
import { validationCases } from "./validation.ts";
import { volumeCases } from "./volumes.ts";
import { watchCases } from "./watch.ts";
import { manyWatchesCases } from "./watch-many.ts";
import { webhookMatchingCases } from "./webhook-matching.ts";
import { webhookCases } from "./webhooks.ts";

/** Every case of the suite. */
export const allCases: readonly Case[] = [
  ...basicsCases,
  ...pathCases,
  ...discoveryCases,
  ...contentTypeCases,
  ...createCases,
  ...readCases,
  ...listCases,
  ...selectorCases,
  ...tableCases,
  ...watchCases,
  ...manyWatchesCases,
  ...timeoutCases,
  ...updateCases,
  ...deleteCases,
  ...garbageCases,
  ...fieldValidationCases,
  ...fractionCases,
  ...validationCases,
  ...objectRulesCases,
  ...patchCases,
  ...applyCases,
  ...managedFieldsCases,
  ...limitCases,
  ...volumeCases,
  ...podSecurityCases,
  ...scaleCases,
  ...kindRulesCases,
  ...containerWarningCases,
  ...rbacCases,
  ...crdCases,
  ...crdRefusalCases,
  ...severalVersionsCases,
  ...customObjectCases,
  ...openApiCases,
  ...webhookCases,
  ...webhookMatchingCases,
  ...foundObjectCases,
  ...conversionCases,
  ...storedConversionCases,
  ...mutatingPolicyCases,
  ...policyCases,
  ...policyTypeCases,
  ...policyShapeCases,
  ...admissionMetricsCases,
  ...compactionCases,
  ...programCases,
  ...documentedDifferences.map(caseOf),
];
