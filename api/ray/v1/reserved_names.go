package v1

// Names that the operator adds to Pods. A user who takes one of them for something else is refused or overridden, and
// tools that show a user's own part of a Pod filter by them.

// Containers.
const (
	// ContainerAutoscaler is the autoscaler, in the head Pod.
	ContainerAutoscaler = "autoscaler"
	// ContainerHistoryCollector is the collector of the history server, in every Ray Pod.
	ContainerHistoryCollector = "ray-history-collector"
	// ContainerJobSubmitter submits a RayJob.
	ContainerJobSubmitter = "ray-job-submitter"
	// ContainerWaitGCSReady is the init container that holds a worker until the head answers.
	ContainerWaitGCSReady = "wait-gcs-ready"
	// ContainerWaitTLS is the init container that holds a Pod until its address is in its certificate.
	ContainerWaitTLS = "wait-for-tls-ip-san"
)

// Volumes and where they are mounted.
const (
	// VolumeTLS holds the certificates for mutual TLS.
	VolumeTLS = "ray-tls"
	// VolumeTLSPath is where VolumeTLS is mounted.
	VolumeTLSPath = "/etc/ray/tls"
	// VolumeGCSStorage holds the embedded store of the GCS.
	VolumeGCSStorage = "gcs-storage"
	// VolumeGCSStoragePath is where VolumeGCSStorage is mounted.
	VolumeGCSStoragePath = "/data/gcs"
	// VolumeRayToken holds the ServiceAccount token for Kubernetes token authentication.
	VolumeRayToken = "ray-token"
	// VolumeRayTokenPath is where VolumeRayToken is mounted.
	VolumeRayTokenPath = "/var/run/secrets/ray.io/serviceaccount"
	// VolumeSharedMemory backs the object store.
	VolumeSharedMemory = "shared-mem"
	// VolumeSharedMemoryPath is where VolumeSharedMemory is mounted.
	VolumeSharedMemoryPath = "/dev/shm"
	// VolumeRayLogs shares the logs between Ray and the autoscaler or the collector.
	VolumeRayLogs = "ray-logs"
	// VolumeRayLogsPath is where VolumeRayLogs is mounted.
	VolumeRayLogsPath = "/tmp/ray"
)

// Names of ports of the Ray container and of the head Service. A port named PortServe, or whose name begins with
// PortServe and a dash, is a port of Ray Serve.
const (
	// PortClient is the Ray client server.
	PortClient = "client"
	// PortGCSServer is the GCS.
	PortGCSServer = "gcs-server"
	// PortDashboard is the dashboard and the job API.
	PortDashboard = "dashboard"
	// PortMetrics is the Prometheus endpoint.
	PortMetrics = "metrics"
	// PortServe is Ray Serve.
	PortServe = "serve"
	// PortServeGRPC is the gRPC proxy of Ray Serve.
	PortServeGRPC = "serve-grpc"
)

// Numbers of these ports unless the user says otherwise.
const (
	// DefaultClientPort belongs to PortClient.
	DefaultClientPort int32 = 10001
	// DefaultGCSServerPort belongs to PortGCSServer.
	DefaultGCSServerPort int32 = 6379
	// DefaultDashboardPort belongs to PortDashboard.
	DefaultDashboardPort int32 = 8265
	// DefaultMetricsPort belongs to PortMetrics.
	DefaultMetricsPort int32 = 8080
	// DefaultServePort belongs to PortServe.
	DefaultServePort int32 = 8000
	// DefaultDashboardAgentListenPort is the agent on each node. It is not a named port.
	DefaultDashboardAgentListenPort int32 = 52365
)

// AuthTokenSecretKey is the key of the token in the Secret that authOptions name or the operator makes.
const AuthTokenSecretKey = "auth_token"
