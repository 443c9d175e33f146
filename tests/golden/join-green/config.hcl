ui           = true
cluster_name = "join-green"

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
  retry_join_as_non_voter      = true
  autopilot_reconcile_interval = "3s"

  retry_join {
    leader_api_addr         = "https://join-green-0123456789abcdef-0.join-green.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-join-green.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://join-green-0123456789abcdef-1.join-green.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-join-green.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://join-green-0123456789abcdef-2.join-green.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-join-green.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level = "info"
