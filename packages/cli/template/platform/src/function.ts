import { type FunctionHandler, request, response } from "@purlin/function-sdk";
import type * as api from "../types/__GROUP__/v1.d.ts";
import type * as core from "../types/v1.d.ts";

const megabytes: Record<api.Observed__KIND__["spec"]["size"], number> = { small: 512, large: 8192 };

/** Composes a ConfigMap of what the __KIND__ asks for. Replace it with what yours is made of. */
export const fn: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req); // keeps what earlier steps want
  const xr = request.getObservedCompositeResource(req).resource.object as api.Observed__KIND__;
  const { owner, size, settings } = xr.spec;

  if (settings?.["owner"] !== undefined) {
    // Stops the pipeline; the condition gives users the reason.
    response
      .fatal(rsp, "spec.settings.owner is not allowed: set spec.owner.")
      .conditionFalse("SettingsValid", "OwnerSet");
    return rsp;
  }

  const name = `${xr.metadata.name}-settings`;
  const config: core.ConfigMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: { ...settings, owner, megabytes: String(megabytes[size]) },
  };
  const exists = request.getObservedComposedResources(req).has("settings");
  response.setDesiredComposedResource(rsp, "settings", config, { ready: exists });

  const status: api.__KIND__Status = { configMap: name };
  response.setDesiredCompositeStatus(rsp, status);
  response.conditionTrue(rsp, "SettingsValid", "Available");
  return rsp;
};

export default fn;
