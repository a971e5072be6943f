import { type FunctionHandler, request, response } from "@purlin/function-sdk";

/** Composes a ConfigMap with a greeting for the name in the composite resource. */
export const fn: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req); // what earlier steps want is kept
  const xr = request.getObservedCompositeResource(req).resource;

  if (!xr.has("spec.name")) {
    // Stops the pipeline, and reports the reason on the composite resource and its claim.
    response
      .fatal(rsp, "spec.name is missing: add the name to greet.")
      .conditionFalse("Greeted", "NameMissing")
      .targetCompositeAndClaim();
    return rsp;
  }

  const greeting = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: xr.namespace ?? "default" },
    data: { greeting: `Hello, ${xr.getString("spec.name")}!` },
  };
  const exists = request.getObservedComposedResources(req).has("greeting");
  response.setDesiredComposedResource(rsp, "greeting", greeting, { ready: exists });
  response.conditionTrue(rsp, "Greeted", "Available").targetCompositeAndClaim();
  return rsp;
};

export default fn;
