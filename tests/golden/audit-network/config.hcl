ui           = true
cluster_name = "audit-network"

listener "tcp" {
  address              = "[::]:8200"
  cluster_address      = "[::]:8201"
  max_request_duration = "90s"
  tls_cert_file        = "/etc/bao/tls/tls.crt"
  tls_key_file         = "/etc/bao/tls/tls.key"
  tls_client_ca_file   = "/etc/bao/tls/ca.crt"
}

seal "static" {
  current_key    = "file:///etc/bao/unseal/key"
  current_key_id = "operator-generated-v1"
}

storage "raft" {
  path                         = "/bao/data"
  performance_multiplier       = 1
  autopilot_reconcile_interval = "3s"

  retry_join {
    leader_api_addr         = "https://audit-network-0.audit-network.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-audit-network.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://audit-network-1.audit-network.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-audit-network.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://audit-network-2.audit-network.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-audit-network.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level = "info"

audit "socket" "socket" {
  options = {
    "address" = "127.0.0.1:9090"
    "socket_type" = "udp"
    "write_timeout" = "2s"
  }
}

audit "syslog" "syslog" {
  options = {
    "facility" = "LOCAL0"
    "tag" = "bao"
  }
}
