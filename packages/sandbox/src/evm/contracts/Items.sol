// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// An ERC-1155 with single and batch transfers.
contract Items {
    string public constant name = "Sandbox Items";
    string public constant symbol = "ITEM";
    mapping(address => mapping(uint256 => uint256)) private held;

    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event TransferBatch(
        address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values
    );

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0xd9b67a26;
    }

    function balanceOf(address account, uint256 id) external view returns (uint256) {
        return held[account][id];
    }

    function mint(uint256 id, uint256 value) external {
        held[msg.sender][id] += value;
        emit TransferSingle(msg.sender, address(0), msg.sender, id, value);
    }

    function mintBatch(uint256[] calldata ids, uint256[] calldata values) external {
        for (uint256 i = 0; i < ids.length; i++) held[msg.sender][ids[i]] += values[i];
        emit TransferBatch(msg.sender, address(0), msg.sender, ids, values);
    }

    function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes calldata) external {
        require(msg.sender == from && held[from][id] >= value, "not the owner");
        held[from][id] -= value;
        held[to][id] += value;
        emit TransferSingle(msg.sender, from, to, id, value);
    }
}
