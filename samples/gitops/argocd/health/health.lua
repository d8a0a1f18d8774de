-- Health of RayCluster, RayJob, RayService and RayCronJob for Argo CD. It reads the conditions that kstatus reads, too:
-- Reconciling, Stalled and Ready. Objects that ended under KubeRay have none of them.
local status = obj.status or {}
local spec = obj.spec or {}

local conditions = {}
for _, c in ipairs(status.conditions or {}) do
  conditions[c.type] = c
end

local function is(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end

local function explained(health, kind)
  local c = conditions[kind]
  local message = c.message
  if message == nil or message == "" then
    message = c.reason
  end
  return {status = health, message = message}
end

if obj.metadata.deletionTimestamp ~= nil then
  return {status = "Progressing", message = "the object is being deleted"}
end
if status.observedGeneration ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "waiting for the operator to observe the object"}
end
if is("Reconciling") then
  return explained("Progressing", "Reconciling")
end
if is("Stalled") then
  return explained("Degraded", "Stalled")
end
if is("Suspended") or is("RayClusterSuspended") or (obj.kind == "RayCronJob" and spec.suspend) then
  return {status = "Suspended", message = "suspended"}
end
if is("Ready") then
  return explained("Healthy", "Ready")
end
if conditions["Ready"] ~= nil then
  return explained("Progressing", "Ready")
end
if status.jobDeploymentStatus == "Complete" then
  return {status = "Healthy", message = status.message or ""}
end
if status.jobDeploymentStatus == "Failed" then
  return {status = "Degraded", message = status.message or ""}
end
return {status = "Progressing", message = "waiting for the operator to observe the object"}
