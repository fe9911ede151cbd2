"""Is a port as fast as its reference? READ FIRST: judging.py for the rule, campaign.py for how samples are taken."""
